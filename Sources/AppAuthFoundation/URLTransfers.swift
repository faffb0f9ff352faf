internal import AppAuthConcurrency
internal import Foundation
internal import FoundationNetworking
internal import HTTPTypes
internal import JOSE

/// The transfers of one `URLSession`: follows no redirects, and cancels a response that grows too large.
final class URLTransfers: NSObject, URLSessionDataDelegate, Sendable {
    struct Response: Sendable {
        let data: Data
        let head: HTTPURLResponse
    }

    private struct Transfer {
        let limits: HTTPLimits
        let continuation: CheckedContinuation<Response, any Error>
        var data = Data()
    }

    private let state = LockedValue(State())

    private struct State {
        var running: [Int: Transfer] = [:]
        /// The errors of tasks that were cancelled before they began.
        var ended: [Int: any Error] = [:]
    }

    func begin(
        _ task: URLSessionDataTask, _ limits: HTTPLimits, _ continuation: CheckedContinuation<Response, any Error>
    ) {
        let error = state.withLock { state in
            let error = state.ended.removeValue(forKey: task.taskIdentifier)
            if error == nil {
                state.running[task.taskIdentifier] = Transfer(limits: limits, continuation: continuation)
            }
            return error
        }
        if let error { continuation.resume(throwing: error) } else { task.resume() }
    }

    /// Ends a transfer that is running or has not begun.
    func cancel(_ task: URLSessionTask, _ error: any Error) {
        let transfer = state.withLock { state in
            let transfer = state.running.removeValue(forKey: task.taskIdentifier)
            if transfer == nil, task.state == .suspended { state.ended[task.taskIdentifier] = error }
            return transfer
        }
        task.cancel()
        transfer?.continuation.resume(throwing: error)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) { completionHandler(nil) }

    func urlSession(_ session: URLSession, dataTask task: URLSessionDataTask, didReceive data: Data) {
        let exceeded: Int? = state.withLock { state in
            guard let transfer = state.running[task.taskIdentifier] else { return nil }
            let limit = transfer.limits.bodyBytes
            guard transfer.data.count + data.count <= limit else { return limit }
            state.running[task.taskIdentifier]?.data.append(data)
            return nil
        }
        guard let exceeded else { return }
        cancel(
            task,
            AuthError(
                .invalidResponse, .resource, "expected a response of at most \(exceeded) bytes, found a larger one",
                outcome: .perhapsProcessed))
    }

    /// A response with a challenge that `URLSession` knows, for example `Basic`, never ends by itself on Linux. It is
    /// complete when this is called.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        end(task, nil)
        completionHandler(.rejectProtectionSpace, nil)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        end(task, error)
    }

    private func end(_ task: URLSessionTask, _ error: (any Error)?) {
        guard let transfer = state.withLock({ $0.running.removeValue(forKey: task.taskIdentifier) }) else { return }
        if let error {
            transfer.continuation.resume(throwing: Self.authError(error))
        } else if let response = task.response as? HTTPURLResponse {
            transfer.continuation.resume(returning: Response(data: transfer.data, head: response))
        } else {
            transfer.continuation.resume(
                throwing: AuthError(
                    .invalidResponse, .resource, "expected an HTTP response", outcome: .perhapsProcessed))
        }
    }

    private static func authError(_ error: any Error) -> AuthError {
        let code = (error as? URLError)?.code
        let isUnsent = [.cannotFindHost, .cannotConnectToHost, .dnsLookupFailed, .secureConnectionFailed].contains(code)
        return AuthError(
            code == .timedOut ? .timeout : .transport, .resource,
            "the request failed: \((error as? URLError)?.localizedDescription ?? AuthError.summary(of: error))",
            outcome: isUnsent ? .notSent : .perhapsProcessed, isTemporary: true)
    }
}

extension URLTransfers.Response {
    /// The response as a ``TransportResponse``.
    var transportResponse: TransportResponse {
        var fields = HTTPFields()
        for (name, value) in head.allHeaderFields {
            guard let name = HTTPField.Name("\(name)") else { continue }
            fields[name] = "\(value)"
        }
        return TransportResponse(
            HTTPResponse(status: .init(code: head.statusCode), headerFields: fields), body: [UInt8](data))
    }
}
