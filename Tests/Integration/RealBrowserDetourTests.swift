import Foundation
import Testing

extension Integration.InRealBrowsers {
    /// Users reload, go back, and have several tabs.
    @Suite struct Detours {
        typealias Kind = RealBrowser.Kind

        @Test(arguments: Kind.allCases)
        func `a reload changes nothing, before the page is there and long after`(_ kind: Kind) async throws {
            try await BrowserFixture.at(.ordinary(kind)) { user in
                let (tab, other) = (try await user.window.tab(), try await user.window.tab())
                let login = try await user.login { url in
                    let back = try WayBack(of: url)
                    try await tab.open(url)
                    try await user.identifies(in: tab)
                    let redirect = try await tab.stop(before: "/callback", of: back.uri) {
                        try await tab.click("button[value=allow]")
                    }
                    // The tokens are not here yet, so the browser waits for its page; and asks once more.
                    let again = try await user.provider.paused {
                        try await redirect.goOn()
                        let done = try await tab.request(where: back.isEnd)
                        let before = await tab.session.events.count
                        let again = Task { try await tab.open(done) }
                        _ = try await tab.request(after: before, where: back.isEnd)
                        // A later response of the listener is to a later request.
                        try? await other.open(back.url("/"))
                        return again
                    }
                    try await again.value
                    try await tab.shows("You are signed in")
                }
                try await user.isSignedIn(login)
                // The listener has gone with the command.
                await #expect(throws: BiDiSession.Refusal.self) { try await tab.reload() }
                try await user.isSignedIn(login)
            }
        }

        @Test(arguments: Kind.allCases)
        func `the way back leads into no second sign-in`(_ kind: Kind) async throws {
            try await BrowserFixture.at(.ordinary(kind)) { user in
                let tab = try await user.window.tab()
                let login = try await user.login { url in
                    try await tab.open(url)
                    try await user.signsIn(in: tab)
                    try await tab.shows("You are signed in")
                }
                try await user.isSignedIn(login)
                try await tab.goBack()
                // A browser that has kept the page shows it again, with a button that does nothing any more.
                if try await tab.shows("Allow Demo App?", "That did not work").heading == "Allow Demo App?" {
                    try await tab.click("button[value=allow]")
                    try await tab.shows("That did not work")
                }
                try await user.isSignedIn(login)
            }
        }

        @Test(arguments: Kind.allCases)
        func `of two tabs the first that comes back counts, and the other shows a refusal`(_ kind: Kind) async throws {
            try await BrowserFixture.at(.ordinary(kind)) { user in
                let (first, second) = (try await user.window.tab(), try await user.window.tab())
                let login = try await user.login { url in
                    let back = try WayBack(of: url)
                    try await first.open(url)
                    try await second.open(first.authorizationURL)
                    var stopped: [Tab.Stopped] = []
                    try await user.identifies(in: second)
                    try await first.reload()
                    try await first.shows("Allow Demo App?")
                    for tab in [second, first] {
                        let redirect = try await tab.stop(before: "/callback", of: back.uri) {
                            try await tab.click("button[value=allow]")
                        }
                        stopped.append(redirect)
                    }
                    // While the second tab's code is redeemed, the first tab comes.
                    try await user.provider.paused {
                        try await stopped[0].goOn()
                        _ = try await second.request(where: back.isEnd)
                        try await stopped[1].goOn()
                        try await first.shows("This sign-in was already used")
                    }
                    try await second.shows("You are signed in")
                }
                try await user.isSignedIn(login)
                #expect(try await first.page().heading == "This sign-in was already used")
            }
        }

        @Test(arguments: Kind.allCases)
        func `a tab that is closed half way does not end the sign-in`(_ kind: Kind) async throws {
            try await BrowserFixture.at(.ordinary(kind)) { user in
                let login = try await user.login { url in
                    let closed = try await user.window.tab()
                    try await closed.open(url)
                    let authorization = try await closed.authorizationURL
                    try await user.identifies(in: closed)
                    try await closed.close()
                    let tab = try await user.window.tab()
                    try await tab.open(authorization)
                    try await tab.shows("Allow Demo App?")
                    try await tab.click("button[value=allow]")
                    try await tab.shows("You are signed in")
                }
                try await user.isSignedIn(login)
            }
        }
    }
}
