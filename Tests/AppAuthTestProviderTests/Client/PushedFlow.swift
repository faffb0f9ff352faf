import JOSE
import AppAuthTestProvider
import Testing

extension Flow {
    /// Pushes the authorization request, with a secret where there is one.
    func push(
        _ changes: KeyValuePairs<String, String?> = [:], _ headers: [(String, String)] = []
    ) async throws -> Wire.Response {
        let authentication = secret.map { [(name: "client_secret", value: $0)] } ?? []
        return try await Wire.post(
            provider.url(.pushedAuthorization), parameters(changes) + authentication, headers)
    }

    /// The reference to a request that was taken.
    func pushed(_ changes: KeyValuePairs<String, String?> = [:]) async throws -> String {
        let response = try await push(changes)
        #expect(response.status == 201)
        return try #require(response.json?["request_uri"]?.string)
    }

    /// The authorization request that names a pushed one.
    func url(naming requestURI: String, client: String? = nil) -> String {
        provider.url(.authorization).appendingQuery([("client_id", client ?? clientID), ("request_uri", requestURI)])
    }
}

extension TestBrowser {
    /// Goes from an authorization request through login and consent to the response.
    func authorize(_ url: String) async throws -> Parameters {
        var location = try await open(url)
        if location == nil, page?.text.contains("type=\"password\"") == true { location = try await signIn() }
        if location == nil { location = try await submit("allow") }
        return try Flow.response(in: location)
    }
}
