import AppAuthConcurrency
import TestFixtures
import Testing

@Suite(.timeLimit(.minutes(5)))
struct TaskQueueTests {
    @Test func `tasks get their turns one at a time, in the order in which they came`() async throws {
        let queue = TaskQueue()
        let first = try await queue.turn()
        let log = LockedValue<[Int]>([])
        var tasks: [Task<Void, any Error>] = []
        for number in 0..<20 {
            tasks.append(
                Task {
                    let turn = try await queue.turn()
                    log.withLock { $0.append(number) }
                    await Task.yield()
                    log.withLock { $0.append(number) }
                    turn.end()
                })
            try await waitUntil { queue.waitingCount == number + 1 }
        }
        #expect(log.withLock { $0.isEmpty })
        first.end()
        for task in tasks { try await task.value }
        #expect(log.withLock { $0 } == (0..<20).flatMap { [$0, $0] })
    }

    @Test func `a task that is cancelled leaves the queue, and the others keep their places`() async throws {
        let queue = TaskQueue()
        let first = try await queue.turn()
        let cancelled = Task { _ = try await queue.turn() }
        try await waitUntil { queue.waitingCount == 1 }
        let next = Task { try await queue.turn() }
        try await waitUntil { queue.waitingCount == 2 }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        #expect(queue.waitingCount == 1)
        first.end()
        try await next.value.end()
    }

    @Test func `a task that is cancelled before it asks gets no turn`() async throws {
        let queue = TaskQueue()
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            _ = try await queue.turn()
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await queue.turn().end()
    }

    @Test func `a turn ends with its last reference, and only once`() async throws {
        let queue = TaskQueue()
        do { _ = try await queue.turn() }
        let second = try await queue.turn()
        second.end()
        let third = try await queue.turn()
        second.end()
        let fourth = Task { try await queue.turn() }
        try await waitUntil { queue.waitingCount == 1 }
        third.end()
        try await fourth.value.end()
    }
}
