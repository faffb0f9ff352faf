import AppAuthConcurrency
import AppAuthLegacy
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// One clock for both sides, which stands still until a test moves it.
final class SharedClock: Sendable {
    private let seconds = LockedValue(0)

    private var start: Date { Date(timeIntervalSince1970: 1_800_000_000) }
    var date: Date { start + Double(seconds.withLock { $0 }) }
    var timestamp: Timestamp {
        Timestamp(wall: date, sinceBoot: .seconds(1000 + seconds.withLock { $0 }), boot: "this boot")
    }

    func advance(_ seconds: Int) { self.seconds.withLock { $0 += seconds } }
}

/// A vendor's double, and an app beside it.
struct Stage<Double: VendorDouble>: Sendable {
    let double: Double
    let clock: SharedClock
    let dialect: Dialect

    var environment: Environment {
        var environment = Environment(transport: CurlTransport(), now: { [clock] in clock.timestamp })
        environment.dialect = dialect
        return environment
    }

    /// A request to the double's API.
    func request(
        _ path: String, _ method: HTTPRequest.Method = .get, json: JSON? = nil
    ) throws -> TransportRequest {
        let url = try SecureURL(double.baseURL + path)
        var request = HTTPRequest(method: method, scheme: url.scheme, authority: url.authority, path: url.pathAndQuery)
        if json != nil { request.headerFields[.contentType] = "application/json" }
        return TransportRequest(request, body: json.map { Array($0.serialized().utf8) })
    }

    func body(_ index: Int, at endpoint: Endpoint) -> String {
        String(decoding: double.log(endpoint)[index].body, as: UTF8.self)
    }
}

/// Runs a test against a double of its own, which is stopped at the end.
func withStage<Double: VendorDouble>(
    _ dialect: Dialect, _ start: (DoubleOptions) async throws -> Double, _ test: (Stage<Double>) async throws -> Void
) async throws {
    let clock = SharedClock()
    var options = DoubleOptions()
    options.clock = { clock.date }
    let double = try await start(options)
    do { try await test(Stage(double: double, clock: clock, dialect: dialect)) } catch {
        await double.stop()
        throw error
    }
    await double.stop()
}

/// The error that something throws; nil, and a failed test, if it throws none of ours.
func authError(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> some Sendable
) async -> AuthError? {
    await #expect(throws: AuthError.self, sourceLocation: sourceLocation) { _ = try await body() }
}

extension TransportResponse {
    var json: JSON? { try? JSON(parsing: body) }
}
