import Foundation
import Testing

/// A headless browser with the settings of a user.
final class RealBrowser: Sendable {
    enum Kind: String, CaseIterable, CustomTestStringConvertible {
        case chromium, firefox

        var testDescription: String { rawValue }
    }

    /// How the browser is set up.
    struct Settings: Hashable {
        let kind: Kind
        var isDark = false
        var runsScripts = true
        var language = "en-US"

        /// As it comes, in English.
        static func ordinary(_ kind: Kind) -> Settings { Settings(kind: kind) }

        /// In German and dark, where pages may run no scripts.
        static func austere(_ kind: Kind) -> Settings {
            Settings(kind: kind, isDark: true, runsScripts: false, language: "de-DE")
        }
    }

    let settings: Settings
    let session: BiDiSession
    private let helper: HelperProcess

    private struct Started: Decodable {
        let port: Int
        let capabilities: String
    }

    private struct MadeWindow: Decodable {
        let userContext: String
    }

    init(_ settings: Settings) async throws {
        self.settings = settings
        var arguments = [settings.kind.rawValue, "--language=\(settings.language)"]
        if settings.isDark { arguments.append("--dark") }
        if !settings.runsScripts && settings.kind == .firefox { arguments.append("--without-scripts") }
        helper = try HelperProcess(script: "bidi_browser.py", arguments)
        do {
            let started = try await helper.report(Started.self)
            session = try await BiDiSession(port: started.port, capabilities: Data(started.capabilities.utf8))
            try await session.command(
                "session.subscribe",
                ["events": ["browsingContext.load", "log.entryAdded", "network.beforeRequestSent"]])
            // Each browser's console shows the resources that a page's policy blocks.
            let listener = """
                () => addEventListener("securitypolicyviolation", event =>
                    console.error("blocked: " + event.effectiveDirective + " " + event.blockedURI), true)
                """
            try await session.command("script.addPreloadScript", ["functionDeclaration": listener])
        } catch {
            await helper.end()
            throw error
        }
    }

    func close() async {
        await session.close()
        await helper.end()
    }

    /// Runs `body` with a browser of its own, and ends the browser.
    static func opened<Result>(
        _ settings: Settings, _ body: (RealBrowser) async throws -> Result
    ) async throws -> Result {
        let browser = try await RealBrowser(settings)
        do {
            let result = try await body(browser)
            await browser.close()
            return result
        } catch {
            await browser.close()
            throw error
        }
    }

    /// Runs `body` with cookies, a history and tabs of its own, and closes these.
    func inWindow<Result>(_ body: (Window) async throws -> Result) async throws -> Result {
        let made = try await session.command("browser.createUserContext", as: MadeWindow.self)
        let result: Result
        do { result = try await body(Window(browser: self, id: made.userContext)) } catch {
            _ = try? await session.command("browser.removeUserContext", ["userContext": made.userContext])
            throw error
        }
        try await session.command("browser.removeUserContext", ["userContext": made.userContext])
        return result
    }

    /// A window whose tabs share their cookies.
    struct Window {
        let browser: RealBrowser
        let id: String

        func tab() async throws -> Tab {
            struct Made: Decodable { let context: String }
            let made = try await browser.session.command(
                "browsingContext.create", ["type": "tab", "userContext": id], as: Made.self)
            let tab = Tab(session: browser.session, id: made.context)
            // Firefox has no such command, but a setting; Chromium has no such setting with which its mouse can be moved.
            if !browser.settings.runsScripts && browser.settings.kind == .chromium {
                try await browser.session.command(
                    "emulation.setScriptingEnabled", ["enabled": false, "contexts": [made.context]])
            }
            try await tab.resize(width: 1000, height: 700)
            return tab
        }
    }
}

/// The browsers of a suite: each starts when it is first needed, and ends with the suite.
actor RealBrowsers {
    private var open: [RealBrowser.Settings: RealBrowser] = [:]

    /// Those of the suite that is running.
    @TaskLocal static var current: RealBrowsers?

    func browser(_ settings: RealBrowser.Settings) async throws -> RealBrowser {
        if let browser = open[settings] { return browser }
        let browser = try await RealBrowser(settings)
        open[settings] = browser
        return browser
    }

    func close() async {
        for browser in open.values { await browser.close() }
        open = [:]
    }

    struct Scope: SuiteTrait, TestScoping {
        func provideScope(
            for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
        ) async throws {
            let browsers = RealBrowsers()
            do { try await RealBrowsers.$current.withValue(browsers, operation: body) } catch {
                await browsers.close()
                throw error
            }
            await browsers.close()
        }
    }
}

extension Trait where Self == RealBrowsers.Scope {
    /// Lets the tests of a suite share their browsers, which take seconds to start.
    static var realBrowsers: Self { RealBrowsers.Scope() }
}
