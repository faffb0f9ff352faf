import Foundation
import Testing

extension Integration {
    /// An app of another author: its own package, which depends on a clone of this one, with the README's example and
    /// the last step of the documentation's tutorial.
    @Suite struct OutsidePackage {
        @Test func `an app with the README's example builds, signs in, and stays signed in`() async throws {
            let workspace = try Workspace()
            let clone = try await clone(into: workspace)
            let provider = try HelperProcess(
                Places.program("local-provider"),
                ["--exit-with-stdin", "--client", "my-app", "--user", "wilma:correct-horse"])
            try await provider.beside {
                let issuer = try await provider.line()
                let programs: [String: String?] = [
                    "App": try readme().firstMatch(of: /```swift\n(.*?)```/.dotMatchesNewlines()).map { String($0.1) },
                    "Greeter": try String(contentsOf: Self.tutorial, encoding: .utf8),
                ]
                let folder = try await build(programs, at: issuer, dependingOn: clone, in: workspace)
                var app = Program(executable: folder.appending(path: "App"))
                app.folder = workspace.folder
                app.environment["XDG_STATE_HOME"] = workspace.path("state")
                let arguments = [issuer, "my-app", issuer + "/api/echo"]
                try await Browser.opened(at: issuer, user: "wilma", password: "correct-horse") { browser in
                    app.environment["BROWSER"] = browser.program
                    let first = try await app.run(arguments)
                    #expect(
                        first.status == 0 && first.output.contains("Hello, wilma")
                            && first.output.contains("local|wilma"), "\(first.output) \(first.errors)")
                    #expect(try await browser.visit(after: first).pressed.first == "Sign in")
                }
                #expect(FileManager.default.fileExists(atPath: workspace.path("state/\(Self.appID)/session.json")))
                // The second run is still signed in: there is no browser now.
                app.environment["BROWSER"] = "/bin/false"
                let second = try await app.run(arguments)
                #expect(
                    second.status == 0 && second.output.contains("Hello, wilma")
                        && second.output.contains("local|wilma"), "\(second.output) \(second.errors)")
                // The tutorial's program has the same store here.
                app.executable = folder.appending(path: "Greeter")
                let greeter = try await app.run([])
                #expect(
                    greeter.status == 0 && greeter.output.contains("The provider knows you as"),
                    "\(greeter.output) \(greeter.errors)")
            }
        }

        private static let tutorial = Places.root.appending(
            path: "Sources/AppAuth/AppAuth.docc/Tutorials/Resources/07-main.swift")
        /// The app ID of both programs, in place of their own.
        private static let appID = "org.example.Outside"

        /// Builds programs of one file each in a package, with this issuer instead of their own, and with one app ID, so
        /// that they share a session.
        ///
        /// - Returns: The folder of the built programs.
        private func build(
            _ programs: [String: String?], at issuer: String, dependingOn clone: URL, in workspace: Workspace
        ) async throws -> URL {
            for (name, main) in programs {
                let main = try #require(main)
                let shared = main.replacing(/appID: "[^"]*"/, with: "appID: \"\(Self.appID)\"")
                #expect(shared != main, "no app ID in: \(main)")
                // The README's program gets it as an argument.
                let program = shared.replacing(/issuer: "http[^"]*"/, with: "issuer: \"\(issuer)\"")
                _ = try workspace.write(program, to: "App/Sources/\(name)/main.swift")
            }
            _ = try workspace.write(manifest(of: programs.keys.sorted(), dependingOn: clone), to: "App/Package.swift")
            let folder = workspace.path("App")
            let build = try await Program.named("swift").run(["build", "--package-path", folder])
            try #require(build.status == 0, "\(build.output) \(build.errors)")
            #expect(!build.output.contains("warning:"), "\(build.output)")
            return URL(filePath: folder).appending(path: ".build/debug")
        }

        /// The current files of this folder, as the one commit of a repository of its own.
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
        private func manifest(of programs: [String], dependingOn clone: URL) throws -> String {
            let targets = programs.map { name in
                ".executableTarget(name: \"\(name)\", "
                    + "dependencies: [.product(name: \"AppAuth\", package: \"swift-appauth\")])"
            }
            let advice = try #require(readme().firstMatch(of: /\.package\(url: "[^"]*".*?\)/)?.output)
            let dependency = advice.replacing(/url: "[^"]*"/, with: "url: \"file://\(clone.path)\"")
            return """
                // swift-tools-version: 6.2
                import PackageDescription

                let package = Package(
                    name: "App",
                    dependencies: [\(dependency)],
                    targets: [\(targets.joined(separator: ", "))])
                """
        }

        private func readme() throws -> String {
            try String(contentsOf: Places.root.appending(path: "README.md"), encoding: .utf8)
        }
    }
}
