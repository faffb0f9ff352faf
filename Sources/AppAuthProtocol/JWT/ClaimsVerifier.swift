package import FoundationEssentials
internal import JOSE

/// The checks that all JWTs of a provider have in common (RFC 7519 §4.1, RFC 8725 §3): type, issuer, audience and times.
/// Each kind of JWT states what it expects, and checks its other claims itself. ``JWTVerifier`` checks the signature.
package struct ClaimsVerifier: Sendable {
    /// The accepted values of `typ`. A token that declares another type has another purpose (RFC 8725 §3.11).
    package enum ExpectedType: Sendable {
        case any
        /// Any that does not end in `+jwt`.
        case generic
        /// This type, `JWT`, or none.
        case optional(String)
        /// Only this type.
        case required(String)
    }

    /// Whether a claim must be present. An optional one is checked if it is present, an ignored one never.
    package enum Presence: Sendable {
        case required, optional, ignored

        fileprivate func covers(_ claim: JSON?) -> Bool {
            switch self {
            case .required: true
            case .optional: claim != nil
            case .ignored: false
            }
        }
    }

    package var type = ExpectedType.any
    package var iss = Presence.required
    package var aud = Presence.required
    package var exp = Presence.ignored
    package var iat = Presence.ignored
    package var nbf = Presence.ignored
    /// The audiences that are accepted besides the client; nil accepts all.
    package var trustedAudiences: Set<String>?
    /// The maximum age of a token that was just received, by its `iat`; nil accepts any.
    package var maximumAge: Duration?
    /// How far the two clocks may differ.
    package var leeway: Duration = .seconds(60)
    /// The issuers that are accepted: those of the client's ID tokens, unless a kind of JWT is not about a user.
    package var issuerPolicy: IssuerPolicy
    /// Creates the error from a message.
    let refusal: @Sendable (_ message: String) -> AuthError
    private let issuer: String
    private let clientID: String

    /// Expects the client's provider as the issuer, or an accepted tenant, and the client in the audience.
    package init(client: Client, refusal: @escaping @Sendable (_ message: String) -> AuthError) {
        (issuer, clientID, self.refusal) = (client.provider.issuer.string, client.id, refusal)
        issuerPolicy = client.idTokenRules.issuer
    }

    /// Parses a token, and checks what needs no key: type, issuer and audience.
    package func parse(_ token: String) throws -> (jws: JWS, claims: JSON.Object) {
        let jws: JWS
        do { jws = try JWS(compact: token) } catch { throw refusal("\(error)") }
        try checkType(jws.header.typ)
        let claims: JSON.Object
        do { claims = try jws.claims } catch { throw refusal("\(error)") }
        try checkIssuer(claims)
        try checkAudience(claims)
        return (jws, claims)
    }

    /// RFC 7515 §4.1.9: in any case, with or without `application/`.
    private func checkType(_ typ: String?) throws {
        let found = typ?.lowercasedASCII
        func isNamed(_ name: String) -> Bool { found == name || found == "application/" + name }
        let (isExpected, expected) =
            switch type {
            case .any: (true, "")
            case .generic: (found?.hasSuffix("+jwt") != true, "JWT")
            case .optional(let name): (found == nil || isNamed(name) || isNamed("jwt"), name)
            case .required(let name): (isNamed(name), name)
            }
        guard isExpected else {
            throw refusal(
                "expected 'typ' to be \(expected), found \(typ.map { $0.foundText } ?? "none")")
        }
    }

    /// RFC 7519 §4.1.1, OpenID Connect Core §3.1.3.7 step 2: the issuer is exactly the provider's, or its tenant's.
    func checkIssuer(_ claims: JSON.Object) throws {
        guard iss.covers(claims["iss"]), let objection = issuerPolicy.objection(to: claims, expecting: issuer) else {
            return
        }
        throw refusal(objection)
    }

    /// RFC 7519 §4.1.3, Core §3.1.3.7 step 3: the audience contains the client, and none that is not trusted.
    func checkAudience(_ claims: JSON.Object) throws {
        let found = claims["aud"]
        guard aud.covers(found) else { return }
        guard let audience = found?.stringOrStrings else {
            throw refusal("expected 'aud' to be a string or an array of strings, found \(found.foundStrings)")
        }
        // Several providers name the client so, and a project or an API as a further audience, which may be trusted.
        let hint = claims["azp"] == .string(clientID) ? ", with this client as 'azp'" : ""
        guard audience.contains(where: clientID.isExactly) else {
            let found = audience.joined(separator: " ").foundText
            throw refusal("expected 'aud' to contain \(clientID.foundText), found \(found)\(hint)")
        }
        guard let trustedAudiences else { return }
        if let other = audience.first(where: {
            !clientID.isExactly($0) && !trustedAudiences.contains(where: $0.isExactly)
        }) {
            throw refusal("expected no audience beside \(clientID.foundText), found \(other.foundText)\(hint)")
        }
    }

    /// RFC 7519 §4.1.4 to §4.1.6, Core §3.1.3.7 steps 9 and 10: not expired, not from the future, and not too old for a
    /// token that was just received.
    ///
    /// - Parameter refusal: Creates the error about a time from a message.
    package func checkTimes(
        _ claims: JSON.Object, at time: (date: Date, clock: String), refusal: (_ message: String) -> AuthError
    ) throws {
        let (now, clock, leeway) = (time.date.timeIntervalSince1970, time.clock, leeway.seconds)
        let expiration = try seconds("exp", exp, in: claims)
        let issuedAt = try seconds("iat", iat, in: claims)
        if let issuedAt, issuedAt > now + leeway {
            throw refusal("it was issued \(Int(issuedAt - now)) s ahead of \(clock)")
        }
        if let expiration, now >= expiration + leeway {
            // For a token that was just received, iat tells how far apart the clocks are.
            let issue = issuedAt.map { "was issued \(Int(now - $0)) s and " } ?? ""
            throw refusal("it \(issue)expired \(Int(now - expiration)) s ago by \(clock)")
        }
        if let issuedAt, let maximumAge, now - issuedAt > maximumAge.seconds + leeway {
            throw refusal("it was issued \(Int(now - issuedAt)) s ago by \(clock), but was received just now")
        }
        if let notBefore = try seconds("nbf", nbf, in: claims), notBefore > now + leeway {
            throw refusal("it becomes valid in \(Int(notBefore - now)) s by \(clock)")
        }
    }

    /// Reads a NumericDate (RFC 7519 §2): a JSON number between 1970 and the year 9999.
    func seconds(_ name: String, _ presence: Presence, in claims: JSON.Object) throws -> Double? {
        let found = claims[name]
        guard presence.covers(found) else { return nil }
        guard let found else { throw refusal("expected \(name.foundText), found none") }
        guard let seconds = found.double, (0...ResponseObject.latestTime).contains(seconds) else {
            throw refusal(
                "expected \(name.foundText) to be a number of seconds since 1970, found \(claims[name].foundNumber)")
        }
        return seconds
    }
}
