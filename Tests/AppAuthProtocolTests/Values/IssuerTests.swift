import AppAuthProtocol
import TestFixtures
import Testing

struct IssuerTests {
    @Test(arguments: [
        (
            "https://h", "https://h/.well-known/openid-configuration",
            "https://h/.well-known/oauth-authorization-server"
        ),
        (
            "https://h/", "https://h/.well-known/openid-configuration",
            "https://h/.well-known/oauth-authorization-server"
        ),
        (
            "https://h:8443/t/1", "https://h:8443/t/1/.well-known/openid-configuration",
            "https://h:8443/.well-known/oauth-authorization-server/t/1"
        ),
        (
            "https://h/t/", "https://h/t/.well-known/openid-configuration",
            "https://h/.well-known/oauth-authorization-server/t"
        ),
    ])
    func `the metadata is behind the issuer's path (Discovery §4.1), or before it (RFC 8414 §3.1)`(
        text: String, openID: String, oauth: String
    ) throws {
        let issuer = try Issuer(text)
        let inserted = oauth.replacing("oauth-authorization-server", with: "openid-configuration")
        #expect(issuer.openIDConfigurationURLs == (inserted == openID ? [openID] : [openID, inserted]))
        #expect(issuer.authorizationServerMetadataURLs.first == oauth)
        // As django-oauth-toolkit has it; without a path both are the same place.
        let behind = openID.replacing("openid-configuration", with: "oauth-authorization-server")
        #expect(issuer.authorizationServerMetadataURLs.dropFirst() == (behind == oauth ? [] : [behind]))
        #expect(issuer.string == text)
    }

    @Test func `issuers are the same if every byte is (Discovery §4.3)`() throws {
        #expect(Issuer("https://h/t") == Issuer("https://h/t"))
        #expect(Issuer("https://h/t") != Issuer("https://h/t/"))
        #expect(Issuer("https://h") != Issuer("https://H"))
        #expect(Issuer("https://h") != Issuer("https://h:443"))
    }

    @Test func `a literal is checked as well, and ends the program if it is not an issuer`() async throws {
        let literal: Issuer = "https://h/t"
        #expect(try literal == Issuer(String("https://h/t")))
        await #expect(processExitsWith: .failure) { _ = Issuer("http://h") }
    }

    @Test(arguments: ["https://h?a=b", "https://h?", "https://h/#f", "http://h", "h", ""])
    func `a query, a fragment and http are refused (Discovery §2, RFC 8414 §2)`(text: String) {
        #expect(refusal { try Issuer(text) }?.code == .invalidConfiguration)
    }
}
