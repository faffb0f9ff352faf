import AppAuthProtocol
import JOSE
import TestFixtures
import Testing

/// draft-ietf-oauth-client-id-metadata-document.
struct ClientIDDocumentTests {
    private static let url = "https://app.example/client.json"
    private let metadata = ClientMetadata(nativeAppWith: ["http://127.0.0.1/callback"], name: "My App")

    @Test func `the document has the app's metadata and its own URL as the client ID`() throws {
        let document = try metadata.document(at: Self.url)
        #expect(document["client_id"]?.string == Self.url && document["client_name"] == "My App")
        #expect(document["redirect_uris"] == ["http://127.0.0.1/callback"])
        #expect(document["token_endpoint_auth_method"] == "none")
        #expect(document.object?.members.count == metadata.members.members.count + 1)
    }

    @Test(arguments: [
        "https://app.example", "https://app.example/", "http://127.0.0.1/client.json", "https://app.example/a/../b",
        "https://app.example/./b", "https://app.example/b#c", "https://me@app.example/b", "app",
    ])
    func `a URL that cannot be a client ID is refused`(url: String) {
        #expect(refusal { try metadata.document(at: url) }?.code == .invalidConfiguration)
    }

    @Test(arguments: ["client_secret_basic", "client_secret_post", "client_secret_jwt", nil])
    func `an authentication with a secret is refused`(method: String?) throws {
        var metadata = metadata
        metadata.tokenEndpointAuthMethod = method
        #expect(refusal { try metadata.document(at: Self.url) }?.code == .invalidConfiguration)
        metadata.tokenEndpointAuthMethod = "private_key_jwt"
        _ = try metadata.document(at: Self.url)
    }

    @Test(arguments: ["client_id", "client_secret", "client_secret_expires_at", "registration_access_token"])
    func `a published document has no credentials`(name: String) {
        var metadata = metadata
        metadata[name] = "x"
        #expect(refusal { try metadata.document(at: Self.url) }?.message.contains("'\(name)'") == true)
    }

    @Test(arguments: [(nil, false), (false, false), ("true", false), (true, true)] as [(JSON?, Bool)])
    func `a provider says whether it accepts such documents`(announced: JSON?, accepts: Bool) throws {
        var members = JSON.Object()
        members["client_id_metadata_document_supported"] = announced
        let provider = try ProviderMetadata(issuer: "https://op.example", endpoints: [:], more: members)
        #expect(provider.supportsClientIDMetadataDocuments == accepts)
    }
}
