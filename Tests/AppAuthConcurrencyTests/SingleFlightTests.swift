import AppAuthConcurrency
import AppAuthProtocol
import TestFixtures
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SingleFlightTests {
    private struct Failure: Error {}

    @Test func `callers during a run share it, and later callers begin another`() async throws {
        let flight = SingleFlight<Int>()
        let gate = Gate()
        let callers = (0..<100).map { _ in Task { try await flight.run { await gate.pass() } } }
        try await gate.arrived()
        try await waitUntil { flight.waitingCount >= callers.count }
        await gate.open()
        for caller in callers { #expect(try await caller.value == 1) }
        #expect(try await flight.run { await gate.pass() } == 2)
    }

    @Test func `an error is shared too, and not kept`() async throws {
        let flight = SingleFlight<Int>()
        await #expect(throws: Failure.self) { try await flight.run { throw Failure() } }
        #expect(try await flight.run { 1 } == 1)
    }

    @Test func `a caller that is cancelled before it asks begins nothing`() async throws {
        let flight = SingleFlight<Int>()
        let caller = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await flight.run {
                Issue.record("expected no run")
                return 1
            }
        }
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
    }

    @Test func `the operation continues when every caller is cancelled, and is not cancelled itself`() async throws {
        let flight = SingleFlight<Int>()
        let gate = Gate()
        let callers = (0..<10).map { _ in
            Task {
                try await flight.run {
                    let number = await gate.pass()
                    #expect(!Task.isCancelled)
                    return number
                }
            }
        }
        try await gate.arrived()
        try await waitUntil { flight.waitingCount >= callers.count }
        for caller in callers { caller.cancel() }
        for caller in callers { await #expect(throws: CancellationError.self) { try await caller.value } }
        let late = Task { try await flight.run { await gate.pass() } }
        try await waitUntil { flight.waitingCount >= 1 }
        await gate.open()
        #expect(try await late.value == 1)
    }

    @Test func `cancellations and results at the same time lose no caller`() async throws {
        let flight = SingleFlight<Int>()
        for _ in 0..<200 {
            let callers = (0..<20).map { number in
                Task { try await flight.run { number } }
            }
            for caller in callers where Bool.random() { caller.cancel() }
            for caller in callers { _ = await caller.result }
        }
    }

    @Test func `the remaining callers get the result, however many have left`() async throws {
        let flight = SingleFlight<Int>()
        let gate = Gate()
        let callers = (0..<1000).map { _ in Task { try await flight.run { await gate.pass() } } }
        try await waitUntil { flight.waitingCount >= callers.count }
        let (staying, leaving) = (callers.prefix(3) + callers.suffix(3), callers.dropFirst(3).dropLast(3))
        for caller in leaving { caller.cancel() }
        for caller in leaving { await #expect(throws: CancellationError.self) { try await caller.value } }
        #expect(flight.waitingCount == staying.count)
        await gate.open()
        for caller in staying { #expect(try await caller.value == 1) }
    }

    @Test func `a caller that joins gets the result of the current run, and starts none`() async throws {
        let flight = SingleFlight<Int>()
        #expect(flight.running == nil)
        let gate = Gate()
        let caller = Task { try await flight.run { await gate.pass() } }
        try await gate.arrived()
        let run = try #require(flight.running)
        let joined = Task { try await run.value() }
        try await waitUntil { flight.waitingCount >= 2 }
        await gate.open()
        #expect(try await joined.value == 1)
        #expect(try await caller.value == 1)
        #expect(flight.running == nil)
        // A caller that holds the run still gets its result.
        #expect(try await run.value() == 1)
    }

    /// Holds callers until it is opened, and counts them.
    private actor Gate {
        private var count = 0
        private var isOpen = false
        private var held: [CheckedContinuation<Void, Never>] = []

        func pass() async -> Int {
            count += 1
            let number = count
            if !isOpen { await withCheckedContinuation { held.append($0) } }
            return number
        }

        nonisolated func arrived() async throws { try await waitUntil { await count > 0 } }

        func open() {
            isOpen = true
            for continuation in held { continuation.resume() }
            held = []
        }
    }
}
