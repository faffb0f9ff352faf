import Foundation
import Testing

extension Integration {
    /// Glewlwyd: the issuer has a path, `token_type` comes as "bearer", a public client cannot revoke, a refused refresh has an empty body.
    @Suite(.serialized, .provider("glewlwyd.py")) struct Glewlwyd {
        @Test func `a public client signs in with a browser, refreshes, and signs out`() async throws {
            try await SignIn.at(Provider.here(), client: "native") { user in
                try await user.signsIn(pressing: ["OK", "Grant access", "Continue"])
                try await user.readsUserInfo()
                try await user.refreshesTwice()
                try await user.seesOneSession()
                try await user.signsOut(revoking: [], pressing: ["Logout"])
                try await user.isSignedOut()
                // The provider's own session is over too: it asks for the password again. It remembers the grant.
                try await user.signsIn(pressing: ["OK", "Continue"])
            }
        }

        @Test func `a confidential client authenticates with its secret, and revokes its tokens`() async throws {
            try await SignIn.at(Provider.here(), client: "web") { user in
                try await user.signsIn(pressing: ["OK", "Grant access", "Continue"])
                try await user.refreshesTwice()
                try await user.signsOut(revoking: ["refresh_token", "access_token"], pressing: ["Logout"])
                try await user.isSignedOut()
            }
        }

        @Test func `a wrong client secret is refused, and nothing is stored`() async throws {
            try await SignIn.at(Provider.here(), client: "web") { user in
                let login = try await user.login(secret: "not the secret")
                #expect(login.status == 1)
                #expect(try login.json(SignIn.Failure.self).error.code == "unauthorized_client")
                #expect(!FileManager.default.fileExists(atPath: user.store))
            }
        }

        @Test func `a refusal without invalid_grant does not end the session`() async throws {
            try await SignIn.at(Provider.here(), client: "native") { user in
                try await user.signsIn(pressing: ["OK", "Grant access", "Continue"])
                let refused = try await user.replaysAnOldRefreshToken()
                #expect(refused.code != "sign_in_required")
                #expect(try await user.sessions().first?.state == "signed_in")
            }
        }

        /// RFC 8628: the user opens the address with the code in it in a browser, signs in, and approves.
        @Test func `a code is approved in a browser`() async throws {
            let provider = try Provider.here()
            let workspace = try Workspace()
            let program = try Places.program("sign-in").path
            // The printed instructions, and the one line of JSON at its end.
            let device = try HelperProcess(
                URL(filePath: "/bin/sh"),
                [
                    "-c", #"exec "$0" "$@" 2>&1"#, program, "device", "--issuer", provider.profile.issuer,
                    "--client-id",
                    "native", "--scope", "openid profile", "--store", "file:\(workspace.path("session"))", "--json",
                    "--timeout", "60",
                ])
            try await device.beside {
                var shown: [String] = []
                var address: String?
                while address == nil {
                    shown.append(try await device.line())
                    address = shown.last?.split(separator: " ").map(String.init).first { $0.contains("/device?code=") }
                    try #require(shown.count < 100, "\(shown)")
                }
                let userCode = try #require(address?.split(separator: "=").last)
                #expect(shown.contains { $0.contains(userCode) && !$0.contains("http") }, "\(shown)")

                try await RealBrowser.opened(.ordinary(.chromium)) { browser in
                    try await browser.session.command("session.subscribe", ["events": ["network.responseCompleted"]])
                    try await browser.inWindow {
                        try await approve(try #require(address), in: $0.tab(), provider.profile)
                    }
                }

                var last = try await device.line()
                while !last.hasPrefix("{") { last = try await device.line() }
                let login = try JSONDecoder().decode(SignIn.Login.self, from: Data(last.utf8))
                #expect(login.issuer == provider.profile.issuer && login.clientID == "native")
                #expect(login.idTokenClaims.name == "Alice Liddell")
            }
        }

        private func approve(_ address: String, in tab: Tab, _ profile: Provider.Profile) async throws {
            try await tab.open(address)
            try await tab.says("Please enter your login and password")
            try await tab.type(profile.user, into: "#username")
            try await tab.type(profile.password, into: "#password")
            try await tab.press("OK")
            try await tab.says("native requires access to the following scopes")
            try await tab.click("#grant-profile")
            let before = await tab.session.events.count
            try await tab.press("Grant access")
            // The page stays the same, and has stored the response only when this has come back.
            _ = try await tab.session.event(after: before) { event in
                event.method == "network.responseCompleted" && event.params.request?.url.contains("/grant/") == true
            }
            try await tab.press("Continue")
            try await tab.says("Authorization complete, you may close this window")
        }

        @Test func `its metadata is discovered`() async throws { try await Provider.here().isDiscovered() }
    }
}
