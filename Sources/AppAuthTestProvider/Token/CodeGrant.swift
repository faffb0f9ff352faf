internal import AppAuthConcurrency
internal import FoundationEssentials
internal import JOSE

/// The grant that exchanges an authorization code (RFC 6749 §4.1.3, RFC 7636 §4.6).
struct CodeGrant {
    let context: Context

    func redeem(_ form: Parameters, _ client: RegisteredClient) throws -> TokenReply {
        guard let value = form["code"] else { throw OAuthFailure.invalidRequest("expected a code") }
        let resources = try ResourceIndicators.check(form, context)
        let details = try AuthorizationDetails.check(form, context)
        let now = context.now
        // A failure is returned as a value, so that its changes to the store are kept.
        let result: Result<IssuedTokens, any Error> = context.store.withLock { records in
            guard var code = records.codes[value], code.grant.clientID == client.id else {
                return .failure(OAuthFailure.invalidGrant("the code was issued to another client"))
            }
            // RFC 6749 §4.1.2: the second use of a code revokes its tokens.
            guard !code.isUsed else {
                records.revoke(grant: code.grant.id)
                return .failure(OAuthFailure.invalidGrant("the code was used before"))
            }
            code.isUsed = true
            records.codes[value] = code
            return Result {
                guard code.expiresAt > now else { throw OAuthFailure.invalidGrant("the code has expired") }
                try Self.check(form, against: code)
                try context.check(code.confirmation, of: "the code")
                var grant = code.grant
                grant.resources = try Self.limited(resources, to: grant.resources)
                grant.authorizationDetails = try AuthorizationDetails.limited(details, to: grant.authorizationDetails)
                return try TokenIssuer(context: context).issue(grant, to: client, in: &records)
            }
        }
        return try TokenIssuer(context: context).respond(result.get(), to: client)
    }

    private static func check(_ form: Parameters, against code: AuthorizationCode) throws(OAuthFailure) {
        // RFC 6749 §4.1.3: the redirect_uri must be the one of the authorization request.
        guard form["redirect_uri"] == code.redirectURI else {
            throw .invalidGrant("the redirect_uri differs from that of the authorization request")
        }
        guard let challenge = code.codeChallenge else {
            // RFC 9700 §2.1.1: a verifier without a challenge suggests that an attacker removed the challenge.
            guard form["code_verifier"] == nil else {
                throw .invalidGrant("expected no code_verifier, since the authorization request had no code_challenge")
            }
            return
        }
        guard let verifier = form["code_verifier"] else { throw .invalidGrant("expected a code_verifier") }
        // RFC 7636 §4.1: 43 to 128 unreserved characters.
        guard (43...128).contains(verifier.utf8.count), verifier.utf8.allSatisfy(isUnreserved) else {
            throw .invalidGrant("expected a code_verifier of 43 to 128 unreserved characters")
        }
        guard constantTimeEqual(Base64URL.encode(Digest.sha256.hash(verifier)), challenge) else {
            throw .invalidGrant("the code_verifier does not match the code_challenge")
        }
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~".utf8.contains(byte)
        }
    }

    /// Returns the resources for a token: a client may request fewer than were granted, but no others (RFC 8707 §2.2).
    static func limited(_ resources: [String], to granted: [String]) throws(OAuthFailure) -> [String] {
        guard granted.isEmpty || Set(resources).isSubset(of: granted) else {
            throw OAuthFailure("invalid_target", "a resource was not granted")
        }
        return resources.isEmpty ? granted : resources
    }
}
