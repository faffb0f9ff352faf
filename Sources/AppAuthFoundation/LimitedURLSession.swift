internal import Foundation
internal import FoundationNetworking

/// A `URLSession` that follows no redirect and enforces the limits of each request.
final class LimitedURLSession: Sendable {
    private let transfers = URLTransfers()
    private let session: URLSession

    /// - Parameter configuration: The configuration of the `URLSession`; nil means one that keeps neither cookies nor
    ///   responses.
    init(_ configuration: URLSessionConfiguration?) {
        session = URLSession(configuration: configuration ?? .forgetful, delegate: transfers, delegateQueue: nil)
    }

    deinit { session.invalidateAndCancel() }

    /// - Throws: ``AuthError`` of the stage `resource`; `CancellationError`.
    func send(_ request: URLRequest, limits: HTTPLimits) async throws -> URLTransfers.Response {
        let task = session.dataTask(with: request)
        // URLSession ignores its own timeoutIntervalForResource on Linux.
        let clock = Task { [transfers] in
            try await Task.sleep(for: limits.total)
            transfers.cancel(
                task,
                AuthError(
                    .timeout, .resource, "the server did not respond within \(limits.total)",
                    outcome: .perhapsProcessed, isTemporary: true))
        }
        defer { clock.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { transfers.begin(task, limits, $0) }
        } onCancel: {
            transfers.cancel(task, CancellationError())
        }
    }
}

extension URLSessionConfiguration {
    /// An ephemeral configuration without cookies. By default it keeps cookies in memory and sends them with the next
    /// request, even if that request has another user's token.
    fileprivate static var forgetful: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieStorage = nil
        configuration.urlCache = nil
        return configuration
    }
}
