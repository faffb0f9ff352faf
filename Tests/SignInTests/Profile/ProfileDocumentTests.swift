import JOSE
import SignInTool
import Testing

/// The document of a profile, which may come from anybody.
@Suite(.timeLimit(.minutes(5)))
struct ProfileDocumentTests {
    private func document(_ members: JSON.Object) throws -> ProfileDocument {
        var document: JSON.Object = [
            "sign_in_profile": 1, "profile": "work", "command": "login", "issuer": "https://op.example",
            "client_id": "demo",
        ]
        for member in members.members { document[member.name] = member.value }
        return try ProfileDocument(parsing: Array(JSON.object(document).serialized().utf8))
    }

    @Test func `a document is the options of a command line`() throws {
        let members: JSON.Object = [
            "scope": "", "resource": ["https://a.example", "https://b.example"], "dpop": true, "store": "keyring",
        ]
        let document = try document(members)
        #expect(
            document.words == [
                "login", "--issuer", "https://op.example", "--client-id", "demo", "--scope", "", "--resource",
                "https://a.example", "--resource", "https://b.example", "--dpop", "--store", "keyring",
            ])
        #expect(document.local.isEmpty)
        let json = try document.json
        for member in members.members { #expect(json[member.name] == member.value) }
        // To the parser of the options, `--` alone ends them.
        #expect(try self.document(["login_hint": "--"]).words.last == "--login-hint=--")
        #expect(try ProfileDocument(parsing: Array(json.serialized().utf8)).json == json)
    }

    /// A secret in any file of the reader would otherwise go to the issuer of the document.
    @Test(arguments: [
        ("client_secret_file", "/etc/passwd"), ("client_key", "/home/zoe/.ssh/id_ed25519"),
        ("client_key", "handle:0x81000001"), ("client_assertion_file", "token"), ("password_file", "keyring"),
        ("ca_file", "/tmp/ca.pem"), ("store", "file:/home/zoe/.bashrc"), ("store", "encrypted:x"), ("store", "disk"),
        ("from", "work"),
    ])
    func `what is of one machine is no part of the command line`(member: String, value: String) throws {
        let document = try document(.init([(member, .string(value))]))
        #expect(document.words == ["login", "--issuer", "https://op.example", "--client-id", "demo"])
        #expect(document.local.map(\.value) == [value])
        #expect(try document.json[member] == .string(value))
    }

    @Test(
        arguments: [
            ("sign_in_profile", 2), ("sign_in_profile", "1"), ("command", "token"), ("command", "sh"), ("command", 1),
            ("profile", "../work"), ("profile", "a b"), ("profile", 1), ("issuer", "http://op.example"),
            ("issuer", "https://op.example/\u{202E}"), ("issuer", 1), ("token_endpoint", "file:///etc/passwd"),
            ("client_id", ["demo"]), ("client_id", "demo\n"), ("client_id", "demo\u{1B}[2J"),
            ("client_id", "a\u{200B}b"),
            ("client_id", "a          b"), ("client_id", "\u{FFFD}"), ("resource", "https://a.example"),
            ("resource", []),
            ("resource", [1]), ("dpop", "yes"), ("dpop", false), ("param", ["a=\u{7}"]), ("exec", "sh"), ("json", true),
            ("timeout", "1"), ("replace_store", true), ("userinfo", true), ("refresh_token", "x"),
            ("client_secret", "x"),
        ] as [(String, JSON)])
    func `a document that is wrong in one member is refused`(member: String, value: JSON) throws {
        #expect(throws: (any Error).self) { try document(.init([(member, value)])) }
    }

    @Test(arguments: [
        "", "[]", "{}", "sign_in_profile", #"{"sign_in_profile":1}"#,
        #"{"sign_in_profile":1,"command":"login","issuer":"https://a.example","issuer":"https://b.example"}"#,
        #"{"sign_in_profile":1,"command":"login"} "#.dropLast() + "x",
    ])
    func `another document is refused`(text: String) throws {
        #expect(throws: (any Error).self) { try ProfileDocument(parsing: Array(text.utf8)) }
        _ = try ProfileDocument(parsing: Array(#"{"sign_in_profile":1,"command":"login"}"#.utf8))
    }

    @Test func `a value that no user would read to its end is refused`() throws {
        for (count, isTooLong) in [(1000, false), (1001, true)] {
            let value = JSON.string(String(repeating: "a", count: count))
            #expect(((try? document(["scope": value])) == nil) == isTooLong)
        }
    }

    /// A new option of a sign-in is a member of the document, or is for one call.
    @Test func `each option of a sign-in is a member, or is for one call`() async throws {
        try await withDesk { fixture in
            var unknown: Set<String> = []
            for command in ["login", "device", "password"] {
                let help = try await fixture.run(command, "--help").output
                for match in help.matches(of: /(?m)^  (?:-h, )?--([a-z-]+)/) {
                    let member = String(match.1.replacing("-", with: "_"))
                    let values: [JSON] = ["https://op.example", ["x"], true]
                    let isKnown = values.contains { (try? document(.init([(member, $0)]))) != nil }
                    if !isKnown || member == "profile" { unknown.insert(member) }
                }
            }
            let ofOneCall = [
                "json", "verbose", "explain", "replace_store", "userinfo", "profile", "no_profile", "timeout",
                "version", "help",
            ]
            #expect(unknown == Set(ofOneCall))
        }
    }
}
