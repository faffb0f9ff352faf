import Foundation
import Testing

@testable import AppAuth

/// The lock of the sockets and the desktop entry: its holder may be stopped.
@Suite(.timeLimit(.minutes(5)))
struct SchemeLockTests {
    private let session: DesktopFixture

    init() throws { session = try DesktopFixture() }

    private var folder: DeliveryFolder { SchemeRegistration("de.7pass.example", session.folders).folder }

    @Test func `the wait for the lock, which all schemes share, has a limit, and names the holder`() async throws {
        let held = try folder.lock()
        var other = SchemeRegistration("com.example.other", session.folders).folder
        other.lockTimeout = .milliseconds(20)
        let error = try #require(throws: AuthError.self) { try other.lock() }
        #expect(error.code == .unavailable && error.isTemporary)
        #expect(error.message.contains("process \(getpid()) ("), "\(error.message)")
        held.release()
        try other.lock().release()
    }

    @Test func `the close of a listener does not wait for a holder that is stopped`() async throws {
        let listener = try await session.listener(.whileWaiting)
        let held = try folder.lock()
        let clock = ContinuousClock()
        #expect(clock.measure { listener.close() } < folder.lockTimeout / 2)
        #expect(session.sockets.isEmpty)
        held.release()
        // The next one removes the entry that was left.
        try await session.listener(.whileWaiting).close()
        #expect(session.isClear)
    }

    @Test func `a listener that waits for a lock can be cancelled`() async throws {
        let held = try folder.lock()
        defer { held.release() }
        let waiting = Task { try await session.listener() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { _ = try await waiting.value }
        #expect(session.isClear)
    }
}
