import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// A client that does everything right, so that a test can do one thing wrong.
struct Flow {
    let provider: LocalProvider
    var clientID = "demo"
    var secret: String?
    let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"  // RFC 7636 appendix B
    static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    static let redirectURI = "http://127.0.0.1:49152/callback"

    /// The authorization request's parameters; a change of nil takes one out.
    func parameters(_ changes: KeyValuePairs<String, String?> = [:]) -> [(name: String, value: String)] {
        var parameters: [(name: String, value: String)] = [
            ("response_type", "code"), ("client_id", clientID), ("redirect_uri", Self.redirectURI),
            ("scope", "openid profile email offline_access"), ("prompt", "consent"), ("state", "st&te=ü"),
            ("nonce", "n-0S6_WzA2Mj"), ("code_challenge", Self.challenge), ("code_challenge_method", "S256"),
        ]
        for (name, value) in changes {
            parameters.removeAll { $0.name == name }
            if let value { parameters.append((name, value)) }
        }
        return parameters
    }

    func authorizationURL(_ changes: KeyValuePairs<String, String?> = [:]) -> String {
        provider.url(.authorization).appendingQuery(parameters(changes))
    }

    /// Goes through login and consent.
    ///
    /// - Returns: The parameters of the response to the client.
    func authorize(
        _ changes: KeyValuePairs<String, String?> = [:], in browser: TestBrowser = TestBrowser()
    ) async throws -> Parameters {
        var location = try await browser.open(authorizationURL(changes))
        if location == nil, browser.page?.text.contains("type=\"password\"") == true {
            location = try await browser.signIn()
        }
        if location == nil { location = try await browser.submit("allow") }
        return try Self.response(in: location)
    }

    static func response(in location: String?) throws -> Parameters {
        let location = try #require(location)
        #expect(location.hasPrefix(redirectURI + "?"))
        return try #require(FormCoding.decode(String(location.dropFirst(redirectURI.count + 1))))
    }

    /// The response of the authorization endpoint if the user need not be asked.
    func refusal(_ changes: KeyValuePairs<String, String?> = [:]) async throws -> Parameters {
        try Self.response(in: try await Wire.send("GET", authorizationURL(changes)).header("Location"))
    }

    func codeForm(_ code: String, _ changes: KeyValuePairs<String, String?> = [:]) -> [(name: String, value: String)] {
        var form: [(name: String, value: String)] = [
            ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", Self.redirectURI),
            ("client_id", clientID), ("code_verifier", verifier),
        ]
        if let secret { form.append(("client_secret", secret)) }
        for (name, value) in changes {
            form.removeAll { $0.name == name }
            if let value { form.append((name, value)) }
        }
        return form
    }

    func exchange(_ code: String, _ changes: KeyValuePairs<String, String?> = [:]) async throws -> Wire.Response {
        try await Wire.post(provider.url(.token), codeForm(code, changes))
    }

    func refresh(_ token: String, _ more: [(name: String, value: String)] = []) async throws -> Wire.Response {
        try await Wire.post(
            provider.url(.token),
            [("grant_type", "refresh_token"), ("refresh_token", token), ("client_id", clientID)] + more)
    }

    func bearer(_ endpoint: Endpoint, _ token: String) async throws -> Wire.Response {
        try await Wire.send("GET", provider.url(endpoint), [("Authorization", "Bearer \(token)")])
    }
}

extension String {
    func appendingQuery(_ parameters: [(name: String, value: String)]) -> String {
        self + "?" + FormCoding.encode(parameters)
    }
}

extension LocalProvider.Configuration {
    /// The demo with changes.
    static func demo(_ change: (inout Self) -> Void) -> Self {
        var configuration = demo
        change(&configuration)
        return configuration
    }
}

/// The claims of an ID token, after its signature was verified with the provider's published keys.
func verifiedClaims(_ token: String?, _ provider: LocalProvider) async throws -> JSON {
    let jws = try JWS(compact: #require(token))
    let keys = try JWKSet(#require(try await Wire.send("GET", provider.url(.keys)).json))
    let algorithm = try #require(SignatureAlgorithm(rawValue: jws.header.alg))
    let candidates = keys.candidates(kid: jws.header.kid, algorithm: algorithm)
    #expect(candidates.count == 1)
    #expect(candidates.contains { jws.isSigned(by: $0, algorithm: algorithm) })
    return try JSON(parsing: jws.payload)
}
