import JOSE
import AppAuthTestProvider
import Testing

@Suite struct DiscoveryTests {
    /// OpenID Connect Discovery §4.1 and RFC 8414 §3.1, with and without a path in the issuer.
    @Test(arguments: [
        ("", "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"),
        ("/tenant", "/tenant/.well-known/openid-configuration", "/.well-known/oauth-authorization-server/tenant"),
    ])
    func `metadata is at both locations and names the issuer`(path: String, openID: String, oauth: String)
        async throws
    {
        try await withLocalProvider(.demo { $0.issuerPath = path }) { provider in
            let origin = String(provider.issuer.dropLast(path.count))
            for location in [openID, oauth] {
                let response = try await Wire.send("GET", origin + location)
                #expect(response.status == 200)
                #expect(response.header("Content-Type") == "application/json")
                #expect(response.json?["issuer"]?.string == provider.issuer)
                #expect(response.json?["revocation_endpoint"]?.string == provider.url(.revocation))
            }
            #expect(provider.count(.openIDConfiguration) == 1)
            #expect(provider.count(.oauthMetadata) == 1)
            let wrong = path.isEmpty ? "/tenant/.well-known/openid-configuration" : "/.well-known/openid-configuration"
            #expect(try await Wire.send("GET", origin + wrong).status == 404)
        }
    }

    @Test func `revocation can is only in the RFC 8414 document`() async throws {
        try await withLocalProvider(.demo { $0.namesRevocationInOAuthMetadataOnly = true }) { provider in
            let openID = try #require(try await Wire.send("GET", provider.url(.openIDConfiguration)).json)
            let oauth = try #require(try await Wire.send("GET", provider.url(.oauthMetadata)).json)
            #expect(openID["revocation_endpoint"] == nil)
            #expect(openID["introspection_endpoint"] == nil)
            #expect(oauth["revocation_endpoint"]?.string == provider.url(.revocation))
        }
    }

    @Test func `documents are served to GET only, and can say how long they are valid`() async throws {
        try await withLocalProvider(
            .demo {
                $0.keysCacheControl = "max-age=7"
                $0.metadataCacheControl = nil
            }
        ) { provider in
            let keys = try await Wire.send("GET", provider.url(.keys))
            #expect(keys.header("Cache-Control") == "max-age=7")
            #expect(try await Wire.send("GET", provider.url(.openIDConfiguration)).header("Cache-Control") == nil)
            let posted = try await Wire.post(provider.url(.keys), [])
            #expect(posted.status == 405)
            #expect(posted.header("Allow") == "GET, HEAD")
            let head = try await Wire.send("HEAD", provider.url(.keys))
            #expect(head.status == 200)
            #expect(head.body.isEmpty)
            #expect(head.header("Content-Length") == keys.header("Content-Length"))
        }
    }
}
