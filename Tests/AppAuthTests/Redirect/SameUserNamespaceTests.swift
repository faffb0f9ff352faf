import Foundation
import Testing

/// The same-user check in sandboxes and containers, whose users have other numbers than outside: the user's browser is
/// outside and comes in, another user's program does not.
@Suite(.timeLimit(.minutes(5)))
struct SameUserNamespaceTests {
    /// Programs as two users of the machine; as one, where this is not root.
    private static let users: [[String]] =
        geteuid() == 0
        ? [61000, 61001].map { ["setpriv", "--reuid=\($0)", "--regid=\($0)", "--clear-groups"] } : [["env"]]

    private static func isPossible(_ words: [String]) -> Bool { (try? run("env", users[0] + words + ["true"])) != nil }

    private static let bubblewrap = [
        "bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-user", "--unshare-pid",
        "--die-with-parent",
    ]

    @Test(
        .enabled(if: isPossible(["unshare", "--user"]), "no user namespace can be made here"),
        arguments: [["--map-root-user"], ["--map-current-user"]])
    func `in a user namespace with the host's network`(_ options: [String]) async throws {
        try await expectCheck(in: ["unshare", "--user"] + options)
    }

    @Test(
        .enabled(if: isPossible(bubblewrap), "bubblewrap is not installed, or can make no sandbox here"),
        arguments: [[], ["--uid", "5000"]])
    func `in a sandbox like Flatpak's`(_ options: [String]) async throws {
        try await expectCheck(in: Self.bubblewrap + options)
    }

    /// There is one number for everybody there.
    @Test(.enabled(if: isPossible(["unshare", "--user"]), "no user namespace can be made here"))
    func `without a number of its own the check is off, and cannot be required`() async throws {
        for user in Self.users {
            #expect(try await visit(["unshare", "--user"], "automatic", as: user) == "HTTP/1.1 303 See Other")
        }
        #expect(try await visit(["unshare", "--user"], "required", as: Self.users[0]) == "error unavailable")
    }

    private func expectCheck(in location: [String]) async throws {
        for check in ["automatic", "required"] {
            let responses = try await Self.users.asyncMap { try await visit(location, check, as: $0) }
            #expect(responses == Array(["HTTP/1.1 303 See Other", ""].prefix(responses.count)), "\(check)")
        }
    }

    /// The first line that a user's program gets from a listener of the first user's in a place.
    private func visit(_ location: [String], _ check: String, as user: [String]) async throws -> String {
        try await onThread {
            // A login by SSH, so that the user is known.
            let program = Self.users[0] + location + ["env", "SSH_CONNECTION=x"]
            let listener = try ListenerProcess(by: program, check)
            guard listener.redirectURI.hasPrefix("http") else { return listener.redirectURI }
            let authority = String(listener.redirectURI.dropFirst("http://".count).prefix { $0 != "/" })
            let port = String(authority.split(separator: ":")[1])
            let script = """
                trap '' PIPE
                exec 3<>"/dev/tcp/127.0.0.1/$0"
                printf 'GET /callback?state=right HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n' "$1" >&3
                IFS= read -r line <&3
                printf '%s' "$line"
                """
            let response = try run("env", user + ["bash", "-c", script, port, authority])
            return String(decoding: response, as: UTF8.self).filter { $0 != "\r" }
        }
    }
}

extension Array {
    fileprivate func asyncMap<Value>(_ body: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await body(element)) }
        return values
    }
}
