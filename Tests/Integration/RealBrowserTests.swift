import Foundation
import Testing

extension Integration {
    /// `sign-in`, the local provider, and the two browsers that users have.
    @Suite(.serialized, .realBrowsers, .timeLimit(.minutes(2))) struct InRealBrowsers {}
}

extension Integration.InRealBrowsers {
    @Suite struct Outcomes {
        typealias Kind = RealBrowser.Kind

        @Test(arguments: Kind.allCases)
        func `a sign-in and a sign-out end on pages at addresses that reveal nothing`(_ kind: Kind) async throws {
            try await BrowserFixture.at(.ordinary(kind)) { user in
                let tab = try await user.window.tab()
                let login = try await user.login { url in
                    try await tab.open(url)
                    try await user.signsIn(in: tab)
                    let page = try await tab.shows("You are signed in")
                    #expect(page.title == "Signed in – sign-in" && page.language == "en")
                    #expect(try WayBack(of: url).isEnd(page.url), "\(page.url)")
                }
                try await user.isSignedIn(login)
                try await tab.isPresentable(as: "signed-in", in: user.window.browser.settings)

                let logout = try await user.logout { url in
                    try await tab.open(url)
                    let page = try await tab.shows("You are signed out")
                    #expect(!page.url.contains("state="), "\(page.url)")
                }
                #expect(logout.status == 0, "\(logout)")
                try await tab.isPresentable(as: "signed-out", in: user.window.browser.settings)
            }
        }

        @Test(arguments: Kind.allCases)
        func `a user who refuses reads that the sign-in did not succeed`(_ kind: Kind) async throws {
            try await BrowserFixture.at(.ordinary(kind)) { user in
                let tab = try await user.window.tab()
                let login = try await user.login { url in
                    try await tab.open(url)
                    try await user.identifies(in: tab)
                    try await tab.click("button[value=deny]")
                    let page = try await tab.shows("The sign-in did not succeed")
                    #expect(page.title == "Not signed in – sign-in")
                    #expect(try WayBack(of: url).isEnd(page.url), "\(page.url)")
                }
                #expect(login.status == 1)
                #expect(try login.json(SignIn.Failure.self).error.code == "access_denied")
                try await tab.isPresentable(as: "failed", in: user.window.browser.settings)
            }
        }

        @Test(arguments: Kind.allCases)
        func `dark, in German and without scripts the pages are complete`(_ kind: Kind) async throws {
            try await BrowserFixture.at(.austere(kind)) { user in
                let settings = user.window.browser.settings
                let tab = try await user.window.tab()
                let refused = try await user.login { url in
                    try await tab.open(url)
                    try await user.identifies(in: tab)
                    try await tab.click("button[value=deny]")
                    let page = try await tab.shows("Die Anmeldung ist fehlgeschlagen")
                    #expect(page.title == "Nicht angemeldet – sign-in" && page.language == "de")
                }
                #expect(refused.status == 1)
                try await tab.isPresentable(as: "failed", in: settings)

                let login = try await user.login { url in
                    try await tab.open(url)
                    try await tab.shows("Allow Demo App?")
                    try await tab.click("button[value=allow]")
                    try await tab.shows("Sie sind angemeldet")
                }
                try await user.isSignedIn(login)
                try await tab.isPresentable(as: "signed-in", in: settings)

                let logout = try await user.logout { url in
                    try await tab.open(url)
                    try await tab.shows("Sie sind abgemeldet")
                }
                #expect(logout.status == 0, "\(logout)")
                try await tab.isPresentable(as: "signed-out", in: settings)
            }
        }

        @Test(arguments: Kind.allCases)
        func `a browser's own requests neither end nor disturb the wait`(_ kind: Kind) async throws {
            try await BrowserFixture.at(.ordinary(kind)) { user in
                let tab = try await user.window.tab()
                let login = try await user.login { url in
                    let back = try WayBack(of: url)
                    // A browser wants an icon for each page that it shows, such as that for another tab's redirect.
                    try await tab.open(back.uri + "?code=c&state=another")
                    try await tab.shows("This page does not belong to the current sign-in")
                    try await tab.reload()
                    try await tab.shows("This page does not belong to the current sign-in")
                    // The pages contain their icons, so that the browser asks for none;
                    let requests = await tab.session.events.compactMap(\.params.request?.url)
                    #expect(try !requests.contains(back.url("/favicon.ico")))
                    // and if it did, or for anything else:
                    for path in ["/favicon.ico", "/", "/robots.txt"] { try? await tab.open(back.url(path)) }
                    try await tab.open(url)
                    try await user.signsIn(in: tab)
                    try await tab.shows("You are signed in")
                }
                try await user.isSignedIn(login)
            }
        }
    }
}
