public import Foundation
public import FoundationNetworking
internal import HTTPTypes

/// A `URLSession` that authenticates its requests with an ``AuthState``, for apps that use `URLRequest`.
///
/// ```swift
/// let session = AuthenticatedURLSession(state)
/// let (data, response) = try await session.data(for: URLRequest(url: url))
/// ```
/// On Linux, a plain `URLSession` follows redirects with the token, ignores its limit for the whole transfer, and reads
/// responses of any size. It never ends a 401 with a `Basic` challenge, and even an ephemeral one sends cookies back.
/// This class follows no redirect and returns the redirect response instead. It ends every response, enforces both
/// limits and keeps no cookies.
///
/// Some faults of `URLSession` remain: URLs with IPv6 addresses fail, custom root and client certificates cannot be
/// set, and `http_proxy` applies even to loopback. ``AuthState/send(_:)`` has none of these faults.
///
/// Instances are safe to share among tasks.
public final class AuthenticatedURLSession: Sendable {
    private let state: AuthState
    private let limits: HTTPLimits
    private let session: LimitedURLSession

    /// Creates a session with a `URLSession` of its own.
    ///
    /// - Parameters:
    ///   - configuration: The configuration of the `URLSession`; nil means one that keeps neither cookies nor
    ///     responses.
    ///   - limits: The maximum size and duration of a response. `URLSession` sets the other limits.
    public init(
        _ state: AuthState, configuration: URLSessionConfiguration? = nil, limits: HTTPLimits = .default
    ) {
        (self.state, self.limits) = (state, limits)
        session = LimitedURLSession(configuration)
    }

    /// Sends a request with a valid access token and returns the response, regardless of its status.
    ///
    /// If the response says that the token is invalid (as for ``AuthState/send(_:)``), the request is sent once more with a
    /// new token. It is not sent again if the session cannot renew itself, or if the body is a stream,
    /// which can be read only once.
    ///
    /// - Throws: ``AuthError``, as ``AuthState/authenticate(_:)``; ``AuthError/Code/transport``,
    ///   ``AuthError/Code/timeout``, or ``AuthError/Code/invalidResponse`` for a response that is too large;
    ///   `CancellationError`.
    public func data(for request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        try request.refuseUnsafeURL()
        let token = try await state.freshAccessToken()
        let first = try await send(request, token)
        guard state.environment.dialect.refuses(token, in: first.transportResponse), request.httpBodyStream == nil,
            await state.mayReplace(token, of: request.url?.host ?? "")
        else { return (first.data, first.head) }
        state.reject(token)
        let second = try await send(request, state.freshAccessToken())
        return (second.data, second.head)
    }

    /// Sends a request with a token, and with a proof if the token is bound to a key. Sends it once more if the server
    /// rejects only the proof (RFC 9449 §9).
    private func send(_ request: URLRequest, _ token: AccessToken) async throws -> URLTransfers.Response {
        let first = try await attempt(request, token)
        guard first.isDueAgain, request.httpBodyStream == nil else { return first.response }
        return try await attempt(request, token).response
    }

    /// Sends the request once, and records the server's nonce and clock for the next proof (RFC 9449 §8.2).
    private func attempt(
        _ request: URLRequest, _ token: AccessToken
    ) async throws -> (response: URLTransfers.Response, isDueAgain: Bool) {
        let (request, sent) = try await request.authenticated(by: token, of: state)
        let response = try await session.send(request, limits: limits)
        let isDueAgain = sent.flatMap {
            state.proof?.mustProveAgain(response.transportResponse, to: $0, at: state.environment.now())
        }
        return (response, isDueAgain ?? false)
    }
}
