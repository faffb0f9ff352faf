import AppAuthConcurrency
import AppAuthProtocol
import HTTPTypes
import TestFixtures
import Testing

/// Each exchange has an end for those who watch it, however the app's HTTP client fails.
struct FailedExchangeTests {
    private struct Broken: HTTPTransport {
        let error: any Error

        func send(_ exchange: TransportRequest) async throws -> TransportResponse { throw error }
    }

    private enum Unknown: Error { case reset }

    @Test(
        arguments: [
            (AuthError(.timeout, .token, "too slow"), "too slow"),
            (Unknown.reset, "the HTTP client failed: Unknown.reset"), (CancellationError(), nil),
        ] as [(any Error, String?)])
    func `its end is observed, and logged unless the caller has left`(error: any Error, message: String?) async throws {
        let (ends, log) = (LockedValue(0), LogCapture())
        var environment = Environment(transport: Broken(error: error))
        environment.logger = log.logger
        environment[ExchangeObserver.self] = ExchangeObserver { exchange in
            if case .failed = exchange.step { ends.withLock { $0 += 1 } }
        }
        let request = TransportRequest(HTTPRequest(method: .get, url: try SecureURL("https://op.example/jwks")))
        await #expect(throws: (any Error).self) { try await environment.send(request, stage: .keys) }
        #expect(ends.withLock { $0 } == 1)
        let lines = log.lines.filter { $0.hasPrefix("info keys: ") }
        #expect(
            lines.count == (message == nil ? 0 : 1) && lines.allSatisfy { $0.contains(message ?? "") }, "\(log.lines)")
    }
}
