internal import AppAuthConcurrency
internal import FoundationEssentials
package import HTTPTypes
internal import JOSE
internal import Logging

/// Proves possession of a session's key with each request (RFC 9449), and keeps what each server requires in a proof.
///
/// Safe to share. The servers' nonces and clocks are kept in memory; a session stores the nonce of its token endpoint.
package final class DPoP: Sendable {
    package let key: DPoPKey
    private let state = LockedValue(State())
    private let thread = OwnThread()
    private let opening = SingleFlight<SigningKey>()

    private struct State {
        /// Parsed when first needed.
        var signingKey: SigningKey?
        var servers: [String: Server] = [:]
    }

    /// The state of a server, by its origin.
    private struct Server {
        /// The nonce for the next proof (§8.1).
        var nonce: String?
        /// The server's clock, by which it checks the time of a proof.
        var clock: ServerClock?
    }

    private static let mostServers = 64

    /// - Parameter server: A server, with the latest nonce that is known of it.
    package init(key: DPoPKey, knowing server: (url: SecureURL, nonce: String)? = nil) {
        self.key = key
        guard let server else { return }
        state.withLock { $0.servers[DPoPProof.origin(of: server.url)] = Server(nonce: server.nonce) }
    }

    /// Returns the latest nonce of a server; nil if it has sent none.
    package func nonce(of server: SecureURL) -> String? {
        state.withLock { $0.servers[DPoPProof.origin(of: server)]?.nonce }
    }

    /// Adds a proof to a request that is otherwise complete.
    ///
    /// - Parameter token: The access token of the request; nil at the authorization server.
    /// - Returns: The proof, for ``mustProveAgain(_:to:at:)``.
    @discardableResult
    package func prove(
        _ request: inout HTTPRequest, with token: AccessToken? = nil, at now: Timestamp
    ) throws -> DPoPProof {
        let server = state.withLock { $0.servers[DPoPProof.origin(of: request)] }
        let proof = DPoPProof(
            request, issuedAt: server?.clock?.date(at: now) ?? now.wall, nonce: server?.nonce,
            accessToken: token?.value)
        do { request.headerFields[.dpop] = try proof.signed(by: signingKey()) } catch {
            // The next proof opens the key again: its device may have been away.
            state.withLock { $0.signingKey = nil }
            throw error
        }
        return proof
    }

    /// Returns a request with a proof, as ``prove(_:with:at:)`` adds it. A provider signs on a thread of its own, because its
    /// device may take a tenth of a second. If it asks for a PIN, all proofs wait for it.
    package func proven(
        _ request: HTTPRequest, with token: AccessToken? = nil, in environment: Environment
    ) async throws -> (request: HTTPRequest, proof: DPoPProof) {
        let now = environment.now()
        @Sendable func prove() throws -> (HTTPRequest, DPoPProof) {
            var request = request
            let proof = try self.prove(&request, with: token, at: now)
            return (request, proof)
        }
        guard key.provider != nil else { return try prove() }
        if state.withLock({ $0.signingKey }) == nil {
            _ = try await opening.run { [self] in
                // Another call may have opened it just now.
                if let key = state.withLock({ $0.signingKey }) { return key }
                let opened = try await thread.run(askingForPIN: { try await environment.keyPIN(key.pem.reveal()) }) {
                    [key] in try key.signingKey(pin: $0)
                }
                state.withLock { $0.signingKey = opened }
                return opened
            }
        }
        return try await thread.run(prove)
    }

    /// Records the nonce and the clock of a response, and returns whether to repeat the request with another proof.
    ///
    /// - Parameter proof: The proof of the request. Only its own contents are compared, because a concurrent request
    ///   may already have brought the same nonce or time.
    /// - Returns: Whether the server rejected only the proof, and a new one may succeed: the server requires another
    ///   nonce (§8, §9), or the proof's time differs from its clock (§11.1).
    package func mustProveAgain(_ response: TransportResponse, to proof: DPoPProof, at now: Timestamp) -> Bool {
        let nonce = response.headerFields[.dpopNonce].flatMap { $0.isNonce ? $0 : nil }
        let clock = ServerClock(response, received: now).flatMap { $0.isPlausible ? $0 : nil }
        let error = response.dpopError
        let isNew = nonce != nil && nonce != proof.nonce
        // Some servers say so of an old nonce, too, and may name no other: without a nonce, they ask for one.
        let mayBeOld = error == "invalid_dpop_proof" && proof.nonce != nil
        state.withLock { state in
            let server = state.servers[proof.origin]
            if server == nil, state.servers.count >= Self.mostServers { state.servers = [:] }
            // §8.2: a server may send a new nonce with any response, and the latest counts.
            let isDropped = mayBeOld && !isNew && server?.nonce == proof.nonce
            state.servers[proof.origin] = Server(
                nonce: isDropped ? nil : nonce ?? server?.nonce, clock: clock ?? server?.clock)
        }
        switch error {
        case "use_dpop_nonce": return isNew
        case "invalid_dpop_proof" where mayBeOld: return true
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
    /// Sends a request with a proof, and repeats it if the server rejects only the proof: twice at most, because the servers
    /// of a cluster may have nonces of their own.
    ///
    /// - Parameter makeRequest: Creates the request for each attempt: a client assertion is valid once (RFC 7523 §3).
    package func send(
        provenBy proof: DPoP, with token: AccessToken? = nil, stage: AuthError.Stage,
        _ makeRequest: () async throws -> TransportRequest
    ) async throws -> TransportResponse {
        func attempt() async throws -> (response: TransportResponse, mayRepeat: () -> Bool) {
            var request = try await makeRequest()
            let sent: DPoPProof
            (request.head, sent) = try await proof.proven(request.head, with: token, in: self)
            let response = try await send(request, stage: stage)
            let isDueAgain = proof.mustProveAgain(response, to: sent, at: now())
            return (response, { isDueAgain && request.rewind() })
        }
        var sent = try await attempt()
        for _ in 0..<2 {
            guard sent.mayRepeat() else { break }
            logger.debug("\(stage.rawValue): sent once more with another proof")
            sent = try await attempt()
        }
        return sent.response
    }
}

extension TransportResponse {
    /// The error of a rejected proof: in the body of the authorization server's response (§8), or in the challenge of a
    /// resource's response (§9), whose scheme may be in any case.
    fileprivate var dpopError: String? {
        switch status {
        case .badRequest: (try? parsedBody)?["error"]?.string
        case .unauthorized:
            headerFields[values: .wwwAuthenticate].flatMap(Challenge.challenges)
                .first { $0.scheme == "dpop" }?.parameters["error"] ?? (try? parsedBody)?["error"]?.string
        default: nil
        }
    }
}

extension HTTPField.Name {
    /// The header field of a proof (RFC 9449 §4.1).
    package static let dpop = named("DPoP")
    /// The header field of a nonce (RFC 9449 §8.1).
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
    /// The supported algorithms of DPoP proofs (RFC 9449 §5.1); nil if not listed.
    public var dpopSigningAlgorithms: [String]? { document["dpop_signing_alg_values_supported"]?.strings }
}
