internal import FoundationEssentials

extension IDTokenVerifier {
    // Core §3.1.3.7 steps 9 and 10, RFC 7519 §4.1.5: not expired, not from the future, and not too old for a token that
    // was just received.
    func checkTimes(_ claims: Claims) throws {
        let (date, clock) = currentTime
        let now = date.timeIntervalSince1970
        let leeway = leeway.seconds
        let expiration = try time("exp", of: claims)
        guard let expiration else { throw refusal("expected 'exp', found none") }
        guard let issuedAt = try time("iat", of: claims) else { throw refusal("expected 'iat', found none") }
        guard issuedAt <= now + leeway else {
            throw skew("it was issued \(Int(issuedAt - now)) s ahead of \(clock)")
        }
        guard now < expiration + leeway else {
            // For a token that was just received, iat tells how far apart the clocks are.
            let ages = "it was issued \(Int(now - issuedAt)) s and expired \(Int(now - expiration)) s ago"
            throw skew("\(ages) by \(clock)")
        }
        guard now - issuedAt <= maximumAge.seconds + leeway else {
            throw skew("it was issued \(Int(now - issuedAt)) s ago by \(clock), and has just been received")
        }
        if let notBefore = try time("nbf", of: claims), notBefore > now + leeway {
            throw skew("it is valid only in \(Int(notBefore - now)) s by \(clock)")
        }
    }

    // Step 13: with max_age, auth_time must be present, not longer ago and not in the future.
    func checkAuthenticationTime(_ claims: Claims, _ expected: Expectations) throws {
        let found = try time("auth_time", of: claims)
        guard let maxAge = expected.maxAge, expected.previous == nil else { return }
        guard let found else { throw refusal("expected 'auth_time', since 'max_age' was sent, found none") }
        let age = currentTime.date.timeIntervalSince1970 - found
        guard age >= -leeway.seconds, age <= Double(maxAge) + leeway.seconds else {
            throw refusal("expected a sign-in at most \(maxAge) s ago, found one \(Int(age)) s ago")
        }
    }

    /// The time with which the token's times are compared, and whose clock it is: the provider's if it is known and
    /// plausible, otherwise this machine's.
    private var currentTime: (date: Date, clock: String) {
        let now = now()
        return serverClock?.time(at: now) ?? (now.wall, "this machine's clock")
    }

    /// Reads a NumericDate (RFC 7519 §2): a JSON number between 1970 and the year 9999.
    private func time(_ name: String, of claims: Claims) throws -> Double? {
        guard let value = claims[name] else { return nil }
        guard let seconds = value.double, (0...253_402_300_799).contains(seconds) else {
            throw refusal("expected '\(name)' to be a number of seconds since 1970, found \(claims[name].foundNumber)")
        }
        return seconds
    }

    private func skew(_ message: String) -> AuthError {
        let measured =
            serverClock.map { "by its response's Date field \($0.skewDescription)" } ?? "one of the two clocks is wrong"
        return AuthError(.clockSkew, .idToken, "the ID token is refused: \(message); \(measured)", isTemporary: true)
    }
}
