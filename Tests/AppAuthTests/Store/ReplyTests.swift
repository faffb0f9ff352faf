import AppAuthConcurrency
import TestFixtures
import Testing

@testable import AppAuth

/// A caller that waits for a reply.
@Suite(.timeLimit(.minutes(1)))
struct ReplyTests {
    @Test func `a caller that is cancelled before it waits requests nothing`() async throws {
        let requests = LockedValue(0)
        let caller = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await reply { (reply: Reply<Int>) in
                requests.withLock { $0 += 1 }
                reply.give(.success(1))
            }
        }
        await #expect(throws: CancellationError.self) { try await caller.value }
        #expect(requests.withLock { $0 } == 0)
    }

    @Test func `the first reply counts, also if it is given before the wait begins`() async throws {
        let value = try await reply { (reply: Reply<Int>) in
            reply.give(.success(1))
            reply.give(.success(2))
        }
        #expect(value == 1)
    }
}
