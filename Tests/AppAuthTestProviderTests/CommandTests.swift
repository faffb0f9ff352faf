import Foundation
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// The executable `local-provider`, as a parent sees it.
@Suite struct CommandTests {
    final class Child {
        let process = Process()
        let (input, output, errors) = (Pipe.exclusive(), Pipe.exclusive(), Pipe.exclusive())

        init(_ arguments: [String]) throws {
            // The tests and the executables are in one folder.
            process.executableURL = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
                .appending(path: "local-provider")
            process.arguments = arguments
            (process.standardInput, process.standardOutput, process.standardError) = (input, output, errors)
            try process.run()
        }

        /// The first line, and nothing more if nothing more comes with it.
        func firstLine() -> String {
            var line = Data()
            while line.last != UInt8(ascii: "\n"), let chunk = try? output.fileHandleForReading.read(upToCount: 1),
                !chunk.isEmpty
            {
                line += chunk
            }
            return String(decoding: line, as: UTF8.self)
        }

        func rest(_ pipe: Pipe) -> String {
            String(decoding: (try? pipe.fileHandleForReading.readToEnd()) ?? Data(), as: UTF8.self)
        }

        func end() -> Int32 {
            process.waitUntilExit()
            return process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
        }

        deinit { if process.isRunning { process.terminate() } }
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func `it prints only its issuer, serves, and ends cleanly on a signal`(signal: Int32) async throws {
        let child = try Child([
            "--verbose", "--issuer-path", "/t", "--user", "bob:a:b", "--client", "extra:s:x", "--access-token-lifetime",
            "7",
        ])
        let issuer = child.firstLine().dropLast()
        #expect(issuer.hasPrefix("http://127.0.0.1:"))
        #expect(issuer.hasSuffix("/t"))
        let response = try await Wire.post(
            issuer + "/token",
            [
                ("grant_type", "password"), ("username", "bob"), ("password", "a:b"), ("client_id", "extra"),
                ("client_secret", "s:x"), ("scope", "openid"),
            ])
        #expect(response.json?["expires_in"]?.int == 7)
        kill(child.process.processIdentifier, signal)
        #expect(child.end() == 0)
        #expect(child.rest(child.output).isEmpty)
        let line = "POST /t/token (grant_type username password client_id client_secret scope) → 200\n"
        #expect(child.rest(child.errors) == line)
    }

    @Test func `a signal right after the first line ends it cleanly`() throws {
        for _ in 0..<20 {
            let child = try Child(["--double", "moltin"])
            _ = child.firstLine()
            kill(child.process.processIdentifier, SIGTERM)
            #expect(child.end() == 0)
        }
    }

    @Test func `it ends with its standard input, if asked`() async throws {
        let child = try Child(["--exit-with-stdin"])
        let issuer = child.firstLine().dropLast()
        #expect(try await Wire.send("GET", issuer + "/jwks").status == 200)
        try child.input.fileHandleForWriting.close()
        #expect(child.end() == 0)
        #expect(child.rest(child.errors).isEmpty)
    }

    @Test func `the demo client takes the redirect URIs that it is given, and no others`() async throws {
        let child = try Child(["--redirect-uri", "com.example.app:/cb", "--redirect-uri", "oauthtest://cb"])
        let issuer = child.firstLine().dropLast()
        for (uri, status) in [("com.example.app:/cb", 303), ("oauthtest://cb", 303), ("com.example.app:/other", 400)] {
            let query = "response_type=code&client_id=demo&state=s&scope=openid&redirect_uri=\(uri)"
            let challenge = "&code_challenge_method=S256&code_challenge=" + String(repeating: "c", count: 43)
            #expect(try await Wire.send("GET", "\(issuer)/authorize?\(query)\(challenge)").status == status, "\(uri)")
        }
    }

    @Test(arguments: [
        ["--port", "70000"], ["--user", "nopassword"], ["--client", ":x"], ["--unknown"], ["surplus"],
        ["--access-token-lifetime", "0"], ["--grace-period=-1"], ["--fault", "slow:0"], ["--fault", "slow:x"],
        ["--fault"],
        ["--client", "a:x", "--client", "a"], ["--client", "demo:x"], ["--user", "bob:x", "--user", "bob:y"],
        ["--keep-users"],
    ])
    func `wrong usage is status 2 and says why on standard error`(arguments: [String]) throws {
        let child = try Child(arguments)
        #expect(child.end() == 2)
        #expect(child.rest(child.output).isEmpty)
        #expect(!child.rest(child.errors).isEmpty)
    }

    @Test func `an address that cannot be had is status 1 and one line`() async throws {
        try await withLocalProvider { provider in
            for arguments in [["--host", "0.0.0.0"], ["--port", String(provider.port)]] {
                let child = try Child(arguments)
                #expect(child.end() == 1)
                #expect(child.rest(child.output).isEmpty)
                #expect(child.rest(child.errors).split(separator: "\n").count == 1)
            }
        }
    }
}
