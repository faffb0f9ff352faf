import Foundation
import Testing

/// The lines in the documentation are lines of samples, which are built.
struct DocumentedLinesTests {
    private let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized

    private func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    private func swiftBlocks(of path: String) throws -> [String] {
        try text(path).matches(of: /```swift\n(.*?)```/.dotMatchesNewlines()).map { String($0.1) }
    }

    @Test func `the README begins with the sample QuickStart`() throws {
        #expect(try swiftBlocks(of: "README.md").first == text("Samples/QuickStart/main.swift"))
    }

    @Test func `each program has an app ID of its own, so that none finds the session of another`() throws {
        let samples = try ["QuickStart", "CommandLine"].map { try text("Samples/\($0)/main.swift") }
        let ids = samples.map { $0.firstMatch(of: /appID: "([^"]*)"/).map { String($0.1) } }
        #expect(ids == ["org.example.QuickStart", "org.example.CommandLine"])
        // The README's package is a copy of QuickStart.
        #expect(try text("README.md").contains("s/org.example.QuickStart/org.example.MyApp/"))
    }

    @Test func `no documented program crashes at an error: each handles its errors`() throws {
        let catalog = "Sources/AppAuth/AppAuth.docc"
        let paths = try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: catalog).path)
            .map { "\(catalog)/\($0)" }
        let steps = try paths.filter { $0.hasSuffix("-main.swift") }.map { ($0, try text($0)) }
        // A block that imports this package and makes a sign-in is a whole program. Others are the body of a function.
        let blocks = try (paths.filter { $0.hasSuffix(".md") } + ["README.md", "docs/Packaging.md"]).flatMap { path in
            try swiftBlocks(of: path).filter { $0.contains(/import (AppAuth|SevenPass)\n/) && $0.contains("SignIn(") }
                .map { (path, $0) }
        }
        #expect(steps.count > 8 && blocks.count > 2)
        for (path, program) in steps + blocks where !program.contains("@Test") {
            #expect(!program.contains(/^\S.*\btry\b/.anchorsMatchLineEndings()), "\(path)")
        }
    }

    @Test func `the README's commands can be pasted, and the provider comes before those that need it`() throws {
        let blocks = try text("README.md").matches(of: /```sh\n(.*?)```/.dotMatchesNewlines()).map { String($0.1) }
        let start = try #require(blocks.firstIndex { $0.contains("Samples/run quickstart") })
        let use = try #require(blocks.firstIndex { $0.contains("http://127.0.0.1:8080") })
        #expect(start < use)
        for block in blocks {
            // A word in capitals is a placeholder, except for a variable.
            #expect(!block.contains(/\s[A-Z][A-Z-]{3,}\b(?!=)/) && !block.contains("example.org"), "\(block)")
        }
    }

    @Test func `the article about command-line apps shows the sample CommandLine`() throws {
        let blocks = try swiftBlocks(of: "Sources/AppAuth/AppAuth.docc/Articles/CommandLineApps.md")
        #expect(try blocks == [text("Samples/CommandLine/main.swift")])
    }

    @Test func `the article about tests shows the sample AppTests`() throws {
        let blocks = try swiftBlocks(of: "Sources/AppAuth/AppAuth.docc/Articles/TestingYourApp.md")
        // The first block is a part of a manifest.
        #expect(try blocks.dropFirst() == [text("Samples/AppTests/StayingSignedInTests.swift")])
    }

    @Test(arguments: [
        "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "ARCHITECTURE.md", "docs/Packaging.md",
    ])
    func `a link to a file leads to one`(document: String) throws {
        let folder = root.appending(path: document).deletingLastPathComponent()
        // Inline links, and the definitions of links by reference.
        let links = try text(document).matches(of: /(?:\]\(|^\[[^\]]+\]: )([^)#\n]+)/.anchorsMatchLineEndings())
            .map { String($0.1) }
        for link in links where !link.contains(":") {
            #expect(FileManager.default.fileExists(atPath: folder.appending(path: link).path), "\(link)")
        }
    }

    @Test func `every article is listed on the first page`() throws {
        let catalog = "Sources/AppAuth/AppAuth.docc"
        let page = try text("\(catalog)/AppAuth.md")
        let names = try FileManager.default.contentsOfDirectory(
            atPath: root.appending(path: "\(catalog)/Articles").path)
        #expect(names.count > 20)
        for name in names {
            #expect(page.contains("<doc:\(name.dropLast(".md".count))>"), "\(name)")
        }
    }

    @Test(arguments: [
        (
            "OldServers",
            [
                "OproAPIClient", "sharedClient", "isAuthenticated", "authenticateUsingOAuthWithUsername",
                "setAuthorizationWithToken", "Moltin.shared", "TokenService", "restoreOrPresent", "oauth/new",
                "MoltinTokenStorage", "authErrorMessage", "KeychainWrapper", "secret-tool", "libsecret",
                "touch or face", "polkit", "fprintd", "`confirm:`", "users/sign_up", "oauth_client_apps/new",
            ]
        ),
        (
            "MigratingFromHeimdallr",
            [
                "Authenticator(tokenURLRequest:)", "requestAccessToken(username:password:)", "authenticateRequest(_:)",
                "invalidateAccessToken()", "clearAccessToken()", "URLSessionTransport", "`ffs`", "notAuthorized",
                "noRefreshToken",
            ]
        ),
        (
            "MigratingFromThe7PassSDK",
            [
                "SevenPassClient(authState:)", "`.logout(…)`", "isFacebookAppInstalled()", "fbCallback(…)",
                "sharedClient", "resumeAuthorizationFlow(with:)", "present(_:uiCoordinator:)",
                "LSApplicationQueriesSchemes", "<doc:MigratingFromAppAuthIOS>", "<doc:SevenPassStepByStep>",
            ]
        ),
        (
            "MigratingFromAppAuthIOS",
            ["resumeAuthorizationFlow(with:)", "present(_:uiCoordinator:)", "LSApplicationQueriesSchemes"]
        ),
        (
            "SevenPassStepByStep",
            [
                "### Configuration", "### Discovery", "### AppDelegate", "### Authorization request", "### Presenting",
                "### Token exchange", "### Calling the API", "### Refresh", "### Logout", "### Facebook",
                "Discovery(environment:", "AuthorizationRequest(", "LoopbackRedirectListener()", "AuthState.exchange(",
            ]
        ),
        (
            "Libraries",
            ["`SevenPass`", "``URLSessionTransport``", "``Dialect/oPRO``", "``Dialect/moltin``", "``Dialect/sbanken``"]
        ),
    ])
    func `an article has the names that users of the older libraries type`(article: String, names: [String]) throws {
        let text = try text("Sources/AppAuth/AppAuth.docc/Articles/\(article).md")
        for name in names { #expect(text.contains(name), "\(name)") }
    }

    @Test func `the transport's documentation lists what URLSession cannot do on Linux`() throws {
        let text = try text("Sources/AppAuthFoundation/URLSessionTransport.swift")
        for topic in ["too large", "limit for connecting", "IPv6", "client certificate", "http_proxy", "Repeated"] {
            #expect(text.contains(topic), "\(topic)")
        }
    }

    @Test func `Samples/run shows every sample of a system`() throws {
        let script = try text("Samples/run")
        let samples = try text("Package.swift").matches(of: /sample\("([a-z-]+)"/).map { String($0.1) }
        #expect(samples.count == 5)
        for sample in samples { #expect(script.contains(" \(sample)"), "\(sample)") }
    }
}
