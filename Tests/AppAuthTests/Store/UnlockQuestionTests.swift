import AppAuthConcurrency
import AppAuthProtocol
import Dispatch
import TestFixtures
import Testing

@testable import AppAuth

/// Calls that wait until the user unlocks the keyring.
@Suite(.timeLimit(.minutes(1)))
struct UnlockQuestionTests {
    private struct No: Error {}

    /// A user who leaves a question open until the test answers it. Counts the questions.
    private final class User: Sendable {
        private let (answered, count) = (DispatchSemaphore(value: 0), LockedValue(0))
        let asked: AsyncStream<Void>
        private let ask: AsyncStream<Void>.Continuation

        init() { (asked, ask) = AsyncStream.makeStream() }

        var questions: Int { count.withLock { $0 } }

        func answer() { answered.signal() }

        func question(_ error: (any Error)? = nil) -> @Sendable () throws -> Void {
            { [self] in
                count.withLock { $0 += 1 }
                ask.yield()
                answered.wait()
                if let error { throw error }
            }
        }
    }

    private let expiry = AuthError(.store, .store, "no response", isTemporary: true)

    @Test(arguments: [true, false])
    func `one question is open at a time, and all callers get its answer`(isYes: Bool) async throws {
        let (question, user) = (UnlockQuestion(), User())
        let ask = user.question(isYes ? nil : No())
        let answers = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    do {
                        _ = try await question.answer(for: "here", within: .seconds(50), expiry: expiry, ask)
                    } catch is No {
                        return false
                    }
                    return true
                }
            }
            try await waitUntil { question.waitingCount >= 50 }
            user.answer()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers == Array(repeating: isYes, count: 50))
        #expect(user.questions == 1 && question.waitingCount == 0)
        // It is over: the next caller asks anew.
        user.answer()
        _ = try? await question.answer(for: "here", within: .seconds(50), expiry: expiry, ask)
        #expect(user.questions == 2)
    }

    @Test func `a caller that waits too long, or is cancelled, leaves, and the question stays`() async throws {
        let (question, user) = (UnlockQuestion(), User())
        repeat {
            await #expect(throws: expiry) {
                _ = try await question.answer(for: "here", within: .milliseconds(1), expiry: expiry, user.question())
            }
        } while user.questions == 0
        let patient = Task {
            try await question.answer(for: "here", within: .seconds(50), expiry: expiry, user.question())
        }
        try await waitUntil { question.waitingCount >= 1 }
        let impatient = Task {
            try await question.answer(for: "here", within: .seconds(50), expiry: expiry, user.question())
        }
        try await waitUntil { question.waitingCount >= 2 }
        impatient.cancel()
        await #expect(throws: CancellationError.self) { try await impatient.value }
        #expect(question.waitingCount == 1)
        for await _ in user.asked { break }
        #expect(user.questions == 1)
        user.answer()
        #expect(try await !patient.value)
        #expect(user.questions == 1)
    }

    @Test func `a no to another location is none to this one`() async throws {
        let (question, user) = (UnlockQuestion(), User())
        let here = Task {
            try await question.answer(for: "here", within: .seconds(50), expiry: expiry, user.question(No()))
        }
        try await waitUntil { question.waitingCount >= 1 }
        let too = Task {
            try await question.answer(for: "here", within: .seconds(50), expiry: expiry, user.question())
        }
        let there = Task {
            try await question.answer(for: "there", within: .seconds(50), expiry: expiry, user.question())
        }
        try await waitUntil { question.waitingCount >= 3 }
        user.answer()
        await #expect(throws: No.self) { try await here.value }
        await #expect(throws: No.self) { try await too.value }
        // It has not asked yet.
        #expect(try await !there.value)
        user.answer()
        #expect(try await question.answer(for: "there", within: .seconds(50), expiry: expiry, user.question()))
    }
}
