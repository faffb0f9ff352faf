import JOSE
import AppAuthTestProvider
import Testing

/// The client `seven-pass-app`, doing everything right.
struct SevenPassFlow {
    let sevenPass: SevenPass
    var redirectURI = "oauthtest://oauth-callback"

    private static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"  // RFC 7636 appendix B
    private static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

    func authorizationURL(_ changes: KeyValuePairs<String, String?> = [:]) -> String {
        sevenPass.provider.url(.authorization).appendingQuery(
            form(
                [
                    "response_type": "code", "client_id": "seven-pass-app", "redirect_uri": redirectURI,
                    "scope": "openid profile email offline_access", "prompt": "consent", "state": "st&te",
                    "nonce": "n-0S6", "code_challenge": Self.challenge, "code_challenge_method": "S256",
                    "utm_campaign": "a23_45", "fbapp_pres": "0",
                ], changes))
    }

    /// Signs in with a password, and agrees.
    ///
    /// - Returns: The parameters of the redirect to the client.
    func authorize(
        _ changes: KeyValuePairs<String, String?> = [:], in browser: TestBrowser? = nil
    ) async throws -> Parameters {
        let browser = browser ?? TestBrowser(self)
        #expect(try await browser.open(authorizationURL(changes)) == nil)
        #expect(try await browser.signIn("alice@example.com") == nil)
        return try response(in: await browser.submit("allow"))
    }

    func response(in location: String?) throws -> Parameters {
        let location = try #require(location)
        #expect(location.hasPrefix(redirectURI + "?"))
        return try #require(FormCoding.decode(String(location.dropFirst(redirectURI.count + 1))))
    }

    func exchange(_ code: String?, _ changes: KeyValuePairs<String, String?> = [:]) async throws -> Wire.Response {
        try await token(
            [
                "grant_type": "authorization_code", "code": code, "redirect_uri": redirectURI,
                "client_id": "seven-pass-app", "code_verifier": Self.verifier,
            ], changes)
    }

    func refresh(_ token: String?) async throws -> Wire.Response {
        try await self.token(["grant_type": "refresh_token", "refresh_token": token, "client_id": "seven-pass-app"])
    }

    func token(
        _ entries: KeyValuePairs<String, String?>, _ changes: KeyValuePairs<String, String?> = [:]
    ) async throws -> Wire.Response {
        try await Wire.post(sevenPass.provider.url(.token), form(entries, changes))
    }

    /// A call of the accounts API.
    func call(
        _ method: String, _ path: String, _ token: String?, json: String? = nil
    ) async throws -> Wire.Response {
        var fields = token.map { [("Authorization", "Bearer \($0)")] } ?? []
        if json != nil { fields.append(("Content-Type", "application/json")) }
        return try await Wire.send(method, sevenPass.apiBase + path, fields, body: json)
    }

    func call(_ path: String, _ token: String?) async throws -> Wire.Response { try await call("GET", path, token) }

    /// A call of the accounts API by the older client, with the proof by its secret.
    func callWithProof(
        _ path: String, _ token: String?, secret: String = "legacy-secret"
    ) async throws -> Wire.Response {
        try await call(path + "?appsecret_proof=" + Self.proof(token, secret), token)
    }

    /// A call without a user.
    func clientCall(
        _ path: String, _ token: String?, _ entries: KeyValuePairs<String, String?>,
        service: String? = "seven-pass-credentials", secret: String = "credentials-secret"
    ) async throws -> Wire.Response {
        var fields = [("Content-Type", "application/x-www-form-urlencoded")]
        if let token { fields.append(("Authorization", "Bearer \(token)")) }
        if let service { fields.append(("X-Service-Id", service)) }
        let url = sevenPass.clientAPIBase + path + "?appsecret_proof=" + Self.proof(token, secret)
        return try await Wire.send("POST", url, fields, body: FormCoding.encode(form(entries, [:])))
    }

    private static func proof(_ token: String?, _ secret: String) -> String {
        Digest.sha256.hmac(key: Array(secret.utf8), Array((token ?? "").utf8))
            .map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// The access token of a signed-in user.
    func accessToken(scope: String = "openid profile email") throws -> String {
        try sevenPass.provider.mintSession(client: "seven-pass-app", scope: scope).accessToken
    }
}

extension TestBrowser {
    /// A browser that follows redirects between the parts of 7Pass.
    convenience init(_ flow: SevenPassFlow) {
        self.init(at: Role.allCases.map(flow.sevenPass.origin(of:)))
    }
}

func withSevenPass(_ body: (SevenPassFlow) async throws -> Void) async throws {
    try await withSevenPass({ _ in }, body)
}

func withSevenPass(
    _ change: (inout SevenPass.Configuration) -> Void, _ body: (SevenPassFlow) async throws -> Void
) async throws {
    var configuration = SevenPass.Configuration()
    change(&configuration)
    try await withDouble(SevenPass.start(configuration)) { try await body(SevenPassFlow(sevenPass: $0)) }
}
