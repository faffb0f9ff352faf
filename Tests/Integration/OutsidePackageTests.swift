import Foundation
import Testing

extension Integration {
    /// An app that somebody else writes: its own package, which depends on a clone of this one, and the README's example.
    @Suite struct OutsidePackage {
        @Test func `an app with the README's example builds, signs in, and stays signed in`() async throws {
            let workspace = try Workspace()
            let clone = try await clone(into: workspace)
            let provider = try Companion(
                Places.program("local-provider"),
                ["--exit-with-stdin", "--client", "my-app", "--user", "wilma:correct-horse"])
            try await provider.beside {
                let issuer = try await provider.line()
                var app = try await build(example(issuer: issuer), dependingOn: clone, in: workspace)
                app.folder = workspace.folder
                try await Browser.opened(at: issuer, user: "wilma", password: "correct-horse") { browser in
                    app.environment["BROWSER"] = browser.program
                    let first = try await app.run([])
                    #expect(
                        first.status == 0 && first.output.contains("Hello, wilma"), "\(first.output) \(first.errors)")
                    #expect(try await browser.visit(after: first).pressed.first == "Sign in")
                }
                // "Run again, it is still signed in": there is no browser now.
                app.environment["BROWSER"] = "/bin/false"
                let second = try await app.run([])
                #expect(
                    second.status == 0 && second.output.contains("Hello, wilma"), "\(second.output) \(second.errors)")
            }
        }

        /// Builds a program of one file in a package of its own.
        private func build(_ main: String, dependingOn clone: URL, in workspace: Workspace) async throws -> Program {
            _ = try workspace.write(main, to: "App/Sources/App/main.swift")
            _ = try workspace.write(manifest(dependingOn: clone), to: "App/Package.swift")
            let folder = workspace.path("App")
            let build = try await Program.named("swift").run(["build", "--package-path", folder])
            try #require(build.status == 0, "\(build.output) \(build.errors)")
            #expect(!build.output.contains("warning:"), "\(build.output)")
            return Program(executable: URL(filePath: folder).appending(path: ".build/debug/App"))
        }

        /// What stands in this folder now, as the one commit of a repository of its own.
        private func clone(into workspace: Workspace) async throws -> URL {
            let clone = workspace.folder.appending(path: "swift-appauth")
            try FileManager.default.createDirectory(at: clone, withIntermediateDirectories: false)
            for name in [".gitignore", "Package.swift", "Sources", "Samples", "Tests"] {
                try FileManager.default.copyItem(at: Places.root.appending(path: name), to: clone.appending(path: name))
            }
            let author = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
            for command in [
                ["init", "--quiet", "--initial-branch=main"], ["add", "."], ["commit", "--quiet", "-m", "All"],
            ] {
                let git = try await Program.named("git").run(["-C", clone.path] + author + command)
                try #require(git.status == 0, "git: \(git.errors)")
            }
            return clone
        }

        /// The manifest of an app that depends on a package as the README says, with the clone's address.
        private func manifest(dependingOn clone: URL) throws -> String {
            let advice = try #require(readme().firstMatch(of: /\.package\(url: "[^"]*".*?\)/)?.output)
            let dependency = advice.replacing(/url: "[^"]*"/, with: "url: \"file://\(clone.path)\"")
            return """
                // swift-tools-version: 6.2
                import PackageDescription

                let package = Package(
                    name: "App",
                    dependencies: [\(dependency)],
                    targets: [
                        .executableTarget(name: "App", dependencies: [.product(name: "AppAuth", package: "swift-appauth")])
                    ])
                """
        }

        /// The first Swift block of the README, at this issuer instead of its own.
        private func example(issuer: String) throws -> String {
            let block = try #require(readme().firstMatch(of: /```swift\n(.*?)```/.dotMatchesNewlines())?.1)
            let example = block.replacing(/issuer: "https:[^"]*"/, with: "issuer: \"\(issuer)\"")
            #expect(example != block, "no issuer in: \(block)")
            return String(example)
        }

        private func readme() throws -> String {
            try String(contentsOf: Places.root.appending(path: "README.md"), encoding: .utf8)
        }
    }
}
