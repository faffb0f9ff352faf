internal import FoundationEssentials
package import HTTPTypes
internal import JOSE
internal import Logging

/// The possession of a session's key, proven with each request (RFC 9449), and what each server wants to find in a proof.
///
/// Safe to share. What it has learnt of a server is forgotten with it.
package final class DPoP: Sendable {
    package let key: DPoPKey
    private let state = LockedValue(State())

    private struct State {
        /// Read when it is first needed.
        var signingKey: SigningKey?
        var servers: [String: Server] = [:]
    }

    /// What is known of a server, by its origin.
    private struct Server {
        /// What it wants to find in the next proof (§8.1).
        var nonce: String?
        /// Its clock, which judges when a proof was made.
        var clock: ServerClock?
    }

    private static let mostServers = 64

    package init(key: DPoPKey) { self.key = key }

    /// Puts a proof on a request that is ready but for it.
    ///
    /// - Parameter token: The access token that the request carries; nil at the authorization server.
    /// - Returns: What the proof holds, for ``mustProveAgain(_:to:at:)``.
    @discardableResult
    package func prove(
        _ request: inout HTTPRequest, with token: AccessToken? = nil, at now: Timestamp
    ) throws -> DPoPProof {
        let server = state.withLock { $0.servers[DPoPProof.origin(of: request)] }
        let proof = DPoPProof(
            request, issuedAt: server?.clock?.date(at: now) ?? now.wall, nonce: server?.nonce,
            accessToken: token?.value)
        request.headerFields[.dpop] = try proof.signed(by: signingKey())
        return proof
    }

    /// Takes in what a response says of its server.
    ///
    /// - Parameter proof: What went with the request. It is judged by what it held itself: others that were under way at
    ///   the same time may have brought the same nonce, or the same time, before.
    /// - Returns: Whether the server refused the proof alone, and the same request with another one may go through: it
    ///   wants another nonce (§8, §9), or to it the proof was made at another time than now (§11.1).
    package func mustProveAgain(_ response: TransportResponse, to proof: DPoPProof, at now: Timestamp) -> Bool {
        let nonce = response.headerFields[.dpopNonce].flatMap { $0.isNonce ? $0 : nil }
        let clock = ServerClock(response, received: now).flatMap { $0.isPlausible ? $0 : nil }
        state.withLock { state in
            let known = state.servers[proof.origin]
            if known == nil, state.servers.count >= Self.mostServers { state.servers = [:] }
            // §8.2: a server sends a new nonce with any response, and the latest counts.
            state.servers[proof.origin] = Server(nonce: nonce ?? known?.nonce, clock: clock ?? known?.clock)
        }
        switch response.dpopError {
        case "use_dpop_nonce": return nonce != nil && nonce != proof.nonce
        case "invalid_dpop_proof": return clock.map { abs($0.date.timeIntervalSince(proof.issuedAt)) > 10 } ?? false
        default: return false
        }
    }

    private func signingKey() throws -> SigningKey {
        if let key = state.withLock({ $0.signingKey }) { return key }
        let key = try key.signingKey()
        state.withLock { $0.signingKey = key }
        return key
    }
}

extension Environment {
    /// Sends a request with a proof; once more if its server refuses no more than the proof.
    ///
    /// - Parameter makeRequest: Makes the request, the second one too: a client's assertion is good once (RFC 7523 §3).
    package func send(
        provenBy proof: DPoP, with token: AccessToken? = nil, stage: AuthError.Stage,
        _ makeRequest: () async throws -> TransportRequest
    ) async throws -> TransportResponse {
        func attempt() async throws -> (response: TransportResponse, isDueAgain: Bool) {
            var request = try await makeRequest()
            let sent = try proof.prove(&request.head, with: token, at: now())
            let response = try await send(request, stage: stage)
            return (response, proof.mustProveAgain(response, to: sent, at: now()))
        }
        let first = try await attempt()
        guard first.isDueAgain else { return first.response }
        logger.debug("\(stage.rawValue): sent once more with another proof")
        return try await attempt().response
    }
}

extension TransportResponse {
    /// The error in a proof's refusal: in the body of an authorization server's response (§8), in the challenge of a
    /// resource's (§9), whose scheme may be written in any case.
    fileprivate var dpopError: String? {
        switch status {
        case .badRequest: (try? JSON(parsing: body))?["error"]?.string
        case .unauthorized:
            headerFields[values: .wwwAuthenticate].flatMap(Challenge.challenges)
                .first { $0.scheme == "dpop" }?.parameters["error"] ?? (try? JSON(parsing: body))?["error"]?.string
        default: nil
        }
    }
}

extension HTTPField.Name {
    /// RFC 9449 §4.1.
    package static let dpop = named("DPoP")
    /// RFC 9449 §8.1.
    package static let dpopNonce = named("DPoP-Nonce")

    private static func named(_ name: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(name) else { preconditionFailure("expected a token of RFC 9110 §5.6.2") }
        return name
    }
}

extension String {
    /// RFC 9449 §8.1: NQCHAR, visible ASCII without quote and backslash.
    fileprivate var isNonce: Bool {
        !isEmpty && utf8.count <= 4096 && utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
    }
}

extension ProviderMetadata {
    /// The algorithms of DPoP proofs that it knows (RFC 9449 §5.1); nil where it says nothing.
    public var dpopSigningAlgorithms: [String]? { document["dpop_signing_alg_values_supported"]?.strings }
}
