import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// The sign-in through Facebook, with the response handed over by the client.
@Suite struct FacebookTests {
    private static let redirectURI = "fb734789116545825://authorize"

    /// Goes to the login page and on to Facebook.
    ///
    /// - Returns: Where the browser was sent, if it was sent away.
    private func toFacebook(
        _ flow: SevenPassFlow, app: Bool, in browser: TestBrowser
    ) async throws -> String? {
        #expect(try await browser.open(flow.authorizationURL(["fbapp_pres": app ? "1" : "0"])) == nil)
        return try await browser.submit("facebook")
    }

    /// Through the dialog in the browser.
    ///
    /// - Returns: The code and the state of the response.
    private func webResponse(_ flow: SevenPassFlow, in browser: TestBrowser) async throws -> Parameters {
        #expect(try await toFacebook(flow, app: false, in: browser) == nil)
        #expect(browser.pageURL.hasPrefix(flow.sevenPass.facebookURL + "/facebook/dialog?client_id=734789116545825&"))
        let location = try #require(try await browser.submit("continue"))
        #expect(location.hasPrefix(Self.redirectURI + "?code="))
        return try #require(FormCoding.decode(String(location.dropFirst(Self.redirectURI.count + 1))))
    }

    private func callback(
        _ flow: SevenPassFlow, _ response: Parameters, _ type: String?, _ changes: KeyValuePairs<String, String?> = [:]
    ) -> String {
        flow.sevenPass.externalCallback.appendingQuery(
            form(["code": response["code"], "state": response["state"], "fbapp_type": type], changes))
    }

    @Test func `by the dialog: code and state in the query, and the flow ends at the normal redirect`() async throws {
        try await withSevenPass { flow in
            let browser = TestBrowser(flow)
            let response = try await webResponse(flow, in: browser)
            #expect(try await browser.open(callback(flow, response, "web")) == nil)
            let end = try flow.response(in: try await browser.submit("allow"))
            #expect(end["state"] == "st&te")
            let tokens = try await flow.exchange(end["code"])
            let claims = try await verifiedClaims(tokens.json?["id_token"]?.string, flow.sevenPass.provider)
            #expect(claims["email"]?.string == "alice@example.com")
            #expect(flow.sevenPass.log(.externalCallback).first?.query.names == ["code", "state", "fbapp_type"])
        }
    }

    @Test func `by the app: code and state in the fragment, and the flow ends at the normal redirect`() async throws {
        try await withSevenPass { flow in
            for isOverHTTP in [false, true] {
                let browser = TestBrowser(flow)
                let toApp = try #require(try await toFacebook(flow, app: true, in: browser))
                #expect(toApp.hasPrefix("fbauth2://authorize?client_id=734789116545825&"))
                let query = toApp.dropFirst("fbauth2://authorize".count)
                let overHTTP = try await Wire.send("GET", flow.sevenPass.facebookURL + "/facebook/app" + query)
                let location =
                    try isOverHTTP
                    ? #require(overHTTP.header("Location")) : flow.sevenPass.facebookAppResponse(to: toApp)
                #expect(location.hasPrefix(Self.redirectURI + "#code="))
                let response = try #require(
                    FormCoding.decode(String(location.dropFirst(Self.redirectURI.count + 1))))
                #expect(try await browser.open(callback(flow, response, "native")) == nil)
                let end = try flow.response(in: try await browser.submit("allow"))
                #expect(try await flow.exchange(end["code"]).status == 200)
            }
        }
    }

    @Test func `a program can choose Facebook by a field of the form`() async throws {
        try await withSevenPass { flow in
            let browser = TestBrowser(flow)
            #expect(try await browser.open(flow.authorizationURL()) == nil)
            let html = try #require(browser.page?.text)
            let token = try #require(html.firstMatch(of: /name="csrf" value="([^"]*)"/)?.1)
            #expect(html.contains(#"<input type="hidden" name="provider" value="">"#))
            let fields = [("csrf", String(token)), ("provider", "facebook"), ("action", "sign-in")]
            #expect(try await browser.submit(to: browser.pageURL, fields.map { (name: $0.0, value: $0.1) }) == nil)
            #expect(browser.pageURL.hasPrefix(flow.sevenPass.facebookURL + "/facebook/dialog?"))
        }
    }

    @Test func `another browser is refused, and costs the first one nothing`() async throws {
        try await withSevenPass { flow in
            let (browser, other) = (TestBrowser(flow), TestBrowser(flow))
            let response = try await webResponse(flow, in: browser)
            #expect(try await other.open(callback(flow, response, "web")) == nil)
            #expect(other.page?.status == 403)
            _ = try await other.open(flow.authorizationURL())
            #expect(try await other.open(callback(flow, response, "web")) == nil)
            #expect(other.page?.status == 403)
            #expect(try await browser.open(callback(flow, response, "web")) == nil)
            #expect(try await browser.submit("allow") != nil)
        }
    }

    @Test(
        arguments: [
            ["state": "never-was"], ["state": nil], ["code": "never-was"], ["code": nil], ["fbapp_type": "native"],
            ["fbapp_type": "app"], ["fbapp_type": nil],
        ] as [[String: String?]])
    func `a callback that is wrong in one thing is refused, and the right one still works`(wrong: [String: String?])
        async throws
    {
        try await withSevenPass { flow in
            let browser = TestBrowser(flow)
            let response = try await webResponse(flow, in: browser)
            let change = try #require(wrong.first)
            #expect(try await browser.open(callback(flow, response, "web", [change.key: change.value])) == nil)
            #expect(browser.page?.status == 400)
            #expect(try await browser.open(callback(flow, response, "web")) == nil)
            #expect(try await browser.submit("allow") != nil)
        }
    }

    @Test func `a callback works once, and not after its sign-in is over`() async throws {
        try await withSevenPass({ $0.options = ManualClock().options }) { flow in
            let browser = TestBrowser(flow)
            let response = try await webResponse(flow, in: browser)
            _ = try await browser.open(callback(flow, response, "web"))
            _ = try await browser.open(callback(flow, response, "web"))
            #expect(browser.page?.status == 400)
            let late = try await webResponse(flow, in: TestBrowser(flow))
            flow.sevenPass.advance(601)
            _ = try await browser.open(callback(flow, late, "web"))
            #expect(browser.page?.status == 400)
        }
    }

    @Test(arguments: ["client_id", "redirect_uri", "response_type", "state"])
    func `Facebook knows one app, and wants its whole question`(name: String) async throws {
        try await withSevenPass { flow in
            let right: KeyValuePairs<String, String?> = [
                "client_id": "734789116545825", "redirect_uri": Self.redirectURI, "response_type": "code",
                "state": "s",
            ]
            let dialog = flow.sevenPass.facebookURL + "/facebook/dialog"
            #expect(try await Wire.post(dialog, form(right)).status == 303)
            let wrong = try await Wire.post(dialog, form(right, [name: nil]))
            #expect(wrong.status == 400)
            #expect(wrong.header("Location") == nil)
            let query = FormCoding.encode(form(right, [name: "", "x": "y"]))
            #expect(throws: ProviderError.self) {
                try flow.sevenPass.facebookAppResponse(to: "fbauth2://authorize?" + query)
            }
        }
    }

    @Test func `the pages let their forms lead where they have to`() async throws {
        try await withSevenPass { flow in
            let browser = TestBrowser(flow)
            _ = try await browser.open(flow.authorizationURL())
            let login = browser.page?.header("Content-Security-Policy")
            // Back to the client over the issuer, or on to Facebook's app or dialog.
            let (issuer, dialogOrigin) = (flow.sevenPass.issuer, flow.sevenPass.facebookURL)
            #expect(login?.contains("form-action 'self' oauthtest: \(issuer) fbauth2: \(dialogOrigin)") == true)
            _ = try await browser.submit("facebook")
            let dialog = browser.page?.header("Content-Security-Policy")
            #expect(dialog?.contains("form-action 'self' fb734789116545825:") == true)
        }
    }
}
