import JOSE
import AppAuthTestProvider
import Testing

/// A client that registers as it should, so that a test can do one thing wrong.
struct Applicant {
    let provider: LocalProvider
    var bearer: String?

    static let metadata: JSON.Object = [
        "redirect_uris": ["http://127.0.0.1/callback"], "client_name": "An App", "application_type": "native",
        "token_endpoint_auth_method": "none", "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
    ]

    func register(
        _ changes: KeyValuePairs<String, JSON?> = [:], type: String = "application/json"
    ) async throws -> Wire.Response {
        var document = Self.metadata
        for (name, value) in changes { document[name] = value }
        return try await Wire.send(
            "POST", provider.url(.clientRegistration), [("Content-Type", type)] + fields(bearer),
            body: JSON.object(document).serialized())
    }

    /// The document of a registration that went well.
    func registered(_ changes: KeyValuePairs<String, JSON?> = [:]) async throws -> JSON {
        let response = try await register(changes)
        #expect(response.status == 201)
        return try #require(response.json)
    }

    /// The error of one that did not.
    func refusal(_ changes: KeyValuePairs<String, JSON?>) async throws -> String? {
        let response = try await register(changes)
        #expect(response.status == 400)
        return response.json?["error"]?.string
    }

    /// A request to the client's own place, with the token of its latest document.
    func manage(_ method: String, _ registration: JSON, _ document: JSON.Object? = nil) async throws -> Wire.Response {
        let url = try #require(registration["registration_client_uri"]?.string)
        let type = document == nil ? [] : [("Content-Type", "application/json")]
        return try await Wire.send(
            method, url, fields(registration["registration_access_token"]?.string) + type,
            body: document.map { JSON.object($0).serialized() })
    }

    /// The members that a client may send to change its registration (RFC 7592 §2.2).
    static func changeable(_ registration: JSON) -> JSON.Object {
        var document = registration.object ?? .init()
        for name in [
            "registration_access_token", "registration_client_uri", "client_secret_expires_at", "client_id_issued_at",
        ] { document[name] = nil }
        return document
    }

    private func fields(_ token: String?) -> [(String, String)] {
        token.map { [("Authorization", "Bearer \($0)")] } ?? []
    }
}
