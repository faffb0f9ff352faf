import Foundation
import Testing

@testable import AppAuth

/// The lock of the sockets and the desktop entry: its holder may be stopped.
@Suite(.timeLimit(.minutes(5)))
struct SchemeLockTests {
    private let session: DesktopFixture

    init() throws { session = try DesktopFixture() }

    private var folder: DeliveryFolder { SchemeRegistration("de.7pass.example", session.folders).folder }

    @Test(arguments: [DeliveryFolder.Purpose.entry, .xdgMIME])
    func `the wait for a lock has a limit, and names the holder`(purpose: DeliveryFolder.Purpose) async throws {
        let held = try folder.lock(purpose)
        var other = folder
        other.lockTimeout = .milliseconds(20)
        let error = try #require(throws: AuthError.self) { try other.lock(purpose) }
        #expect(error.code == .unavailable && error.isTemporary)
        #expect(error.message.contains("process \(getpid()) ("), "\(error.message)")
        held.release()
        try other.lock(purpose).release()
    }

    @Test func `a listener that waits for a lock can be cancelled`() async throws {
        let held = try folder.lock(.entry)
        defer { held.release() }
        let waiting = Task { try await session.listener() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { _ = try await waiting.value }
        #expect(session.isClear)
    }
}
