internal import AppAuth
internal import FoundationEssentials
internal import JOSE

/// The invariants of an ID token's claims under a valid signature (OpenID Connect Core §3.1.3.7).
enum IDTokenClaims {
    private static let issuer = "https://op.example"
    private static let secret = String(repeating: "s", count: 32)
    private static let now = 1_750_000_000.0

    private static let verifier: IDTokenVerifier = {
        do {
            let provider = try ProviderMetadata(
                document: ["issuer": .string(issuer), "id_token_signing_alg_values_supported": ["HS256"]])
            let client = Client(
                id: "fuzz", authentication: .clientSecretBasic(Secret(secret)), provider: provider)
            var verifier = IDTokenVerifier(client: client)
            verifier.now = { Timestamp(wall: Date(timeIntervalSince1970: now)) }
            return verifier
        } catch { fatalError("\(error)") }
    }()
    private static let keys: KeySet = {
        do {
            let key = try SigningKey.generate(.es256).publicKey.json
            return try KeySet(document: Array((["keys": [key]] as JSON).serialized().utf8))
        } catch { fatalError("\(error)") }
    }()
    private static let expected: IDTokenVerifier.Expectations = {
        var expected = IDTokenVerifier.Expectations(nonce: Secret("n"))
        (expected.maxAge, expected.acrValues, expected.accessToken) = (600, ["a"], Secret("token"))
        return expected
    }()

    @Sendable static func check(_ input: [UInt8]) {
        guard let claims = try? JSON(parsing: input),
            let token = try? JWS.sign(claims, secret: Array(secret.utf8), algorithm: .hs256)
        else { return }
        do {
            let idToken = try verifier.verify(Secret(token), keys: keys, expecting: expected)
            // Steps 2 to 5, 9 to 13.
            expect(claims["iss"]?.string?.isExactly(issuer) == true, "another issuer")
            let audience = claims["aud"]?.strings ?? [claims["aud"]?.string ?? ""]
            expect(!audience.isEmpty && audience.allSatisfy("fuzz".isExactly), "another audience")
            expect(claims["azp"].map { $0 == "fuzz" } ?? true, "another authorized party")
            expect(claims["nonce"]?.string?.isExactly("n") == true, "another nonce")
            expect(claims["acr"]?.string?.isExactly("a") ?? true, "another authentication context")
            expect((claims["exp"]?.double ?? 0) > now - 60, "an expired token")
            expect((claims["iat"]?.double ?? .infinity) <= now + 60, "a token from the future")
            expect((claims["auth_time"]?.double ?? 0) >= now - 660, "a sign-in of long ago")
            expect((1...255).contains(idToken.subject.utf8.count), "a subject of another length")
            _ = (idToken.authenticationMethods, idToken.claims, idToken.issuedAt, idToken.authTime)
        } catch let error as AuthError {
            expect(error.code == .invalidIDToken || error.code == .clockSkew, "another code: \(error.code)")
            expect(error.message.isOneLine && error.message.unicodeScalars.count <= 2000, "a refusal of several lines")
        } catch { fatalError("another error: \(error)") }
    }
}
