internal import AppAuthConcurrency
internal import FoundationEssentials
internal import HTTPTypes
internal import JOSE

/// Demonstrating proof of possession (RFC 9449): the checks of a request's proof.
struct DPoP {
    let context: Context

    /// The maximum difference between a proof's time and the provider's, in seconds (RFC 9449 §11.1).
    private static let leeway = 60.0

    /// Returns the key that a request proves; nil if it has no proof.
    ///
    /// - Parameter accessToken: The token to which the proof must belong, at a resource.
    func proof(in request: Request, for accessToken: String? = nil) throws(OAuthFailure) -> Confirmation? {
        guard let proof = try DPoPProof(request, context.issuer.scheme, context.configuration.dpopAlgorithms) else {
            return nil
        }
        let now = context.now
        // RFC 9449 §4.3 step 11.
        guard abs(proof.issuedAt - now.timeIntervalSince1970) <= Self.leeway else {
            throw .invalidProof("expected an iat within \(Int(Self.leeway)) s of now")
        }
        // Step 12.
        if let accessToken, proof.ath != Base64URL.encode(Digest.sha256.hash(accessToken)) {
            throw .invalidProof("expected ath to be the hash of the access token")
        }
        try context.store.withLock { records throws(OAuthFailure) in
            records.prune(now)
            // §11.1. A proof without the nonce is used up too: the next one needs a jti of its own.
            let expiry = Date(timeIntervalSince1970: proof.issuedAt + Self.leeway)
            guard records.proofs.updateValue(expiry, forKey: proof.key + " " + proof.id) == nil else {
                throw .invalidProof("the proof was used before")
            }
            // Step 10, §8, §9.
            guard let lifetime = context.configuration.dpopNonce.lifetime else { return }
            guard let nonce = proof.nonce, records.dpopNonces.accepts(nonce, now, lifetime: lifetime) else {
                throw OAuthFailure("use_dpop_nonce", "expected the nonce of the DPoP-Nonce field in the proof")
            }
        }
        return .key(proof.key)
    }

    /// Returns the key to which the tokens of a token request are bound.
    func confirmation(of client: RegisteredClient, in request: Request) throws(OAuthFailure) -> Confirmation? {
        let key = try proof(in: request)
        // RFC 9449 §5.2: dpop_bound_access_tokens.
        guard key != nil || !client.requiresDPoP else { throw .invalidProof("expected a DPoP proof of this client") }
        return key
    }

    /// Binds a pushed request to the key of its proof. The proof has the same effect as a `dpop_jkt` in the request,
    /// and must match one that is there (RFC 9449 §10.1).
    func bind(_ authorization: inout AuthorizationRequest, by request: Request) throws(OAuthFailure) {
        guard let key = try proof(in: request) else { return }
        guard authorization.confirmation ?? key == key else {
            throw .invalidProof("the dpop_jkt is not the key of the proof")
        }
        authorization.confirmation = key
    }

    /// Adds the nonce for the next request, which any response may carry (RFC 9449 §8.2).
    func accompany(_ reply: Reply, at endpoint: Endpoint) throws -> Reply {
        guard let lifetime = context.configuration.dpopNonce.lifetime, Self.endpoints.contains(endpoint) else {
            return reply
        }
        let now = context.now
        var reply = reply
        reply.headers[.dpopNonce] = try context.store.withLock { try $0.dpopNonces.current(now, lifetime: lifetime) }
        return reply
    }

    private static let endpoints: Set<Endpoint> = [.token, .pushedAuthorization, .userInfo, .api]

    /// Adds the metadata of RFC 9449 §5.1.
    static func describe(_ document: inout JSON.Object, _ context: Context) {
        document["dpop_signing_alg_values_supported"] = .array(
            context.configuration.dpopAlgorithms.map { .string($0.rawValue) })
    }
}

extension OAuthFailure {
    /// The error for an invalid proof (RFC 9449 §5, §7.1).
    static func invalidProof(_ description: String) -> OAuthFailure { OAuthFailure("invalid_dpop_proof", description) }
}
