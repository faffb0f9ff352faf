import JOSE
import AppAuthTestProvider
import Testing

/// OAuth 2.0 Form Post Response Mode: the response as a page whose form leads to the client.
@Suite struct FormPostTests {
    @Test func `the code is in the form, with state and iss, and is valid`() async throws {
        try await withLocalProvider { provider in
            let (flow, browser) = (Flow(provider: provider), TestBrowser())
            #expect(try await browser.open(flow.authorizationURL(["response_mode": "form_post"])) == nil)
            #expect(try await browser.signIn() == nil)
            #expect(try await browser.submit("allow") == nil)
            let fields = try Flow.form(of: browser.page)
            #expect(Set(fields.keys) == ["code", "state", "iss"])
            #expect(fields["state"] == "st&te=ü")
            #expect(fields["iss"] == provider.issuer)
            #expect(try await flow.exchange(try #require(fields["code"])).status == 200)
        }
    }

    @Test func `an error is in the form too`() async throws {
        try await withLocalProvider { provider in
            let url = Flow(provider: provider).authorizationURL(["response_mode": "form_post", "prompt": "none"])
            let fields = try Flow.form(of: try await Wire.send("GET", url))
            #expect(fields["error"] == "login_required")
            #expect(fields["state"] == "st&te=ü")
        }
    }

    @Test func `the one script that submits the form is allowed by its hash, and the button works without it`()
        async throws
    {
        try await withLocalProvider { provider in
            let url = Flow(provider: provider).authorizationURL(["response_mode": "form_post", "prompt": "none"])
            let page = try await Wire.send("GET", url)
            let policy = try #require(page.header("Content-Security-Policy"))
            let script = try #require(page.text.firstMatch(of: /<script>(.*)<\/script>/)?.1).description
            let hash = Base64URL.encode(Digest.sha256.hash(script)).replacing("-", with: "+").replacing("_", with: "/")
            #expect(policy.contains("; script-src 'sha256-\(hash)='"))
            #expect(policy.contains("default-src 'none'"))
            #expect(policy.contains("form-action 'self' http://127.0.0.1:49152"))
            #expect(page.text.contains("<button class=\"main\" type=\"submit\">"))
        }
    }

    @Test func `the metadata names the modes`() async throws {
        try await withLocalProvider { provider in
            let metadata = try #require(try await Wire.send("GET", provider.url(.openIDConfiguration)).json)
            #expect(
                metadata["response_modes_supported"]?.strings == [
                    "query", "form_post", "query.jwt", "form_post.jwt", "jwt",
                ])
        }
    }
}
