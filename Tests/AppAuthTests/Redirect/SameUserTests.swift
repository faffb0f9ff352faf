import AppAuth
import Glibc
import Testing

/// Who has the other end of the connection.
@Suite(.timeLimit(.minutes(5)))
struct SameUserTests {
    /// A redirect by a program of another user.
    private static let foreignProgram = """
        exec 3<>"/dev/tcp/$0/$1"
        printf 'GET /callback?state=s HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n' "$2" >&3
        read -r line <&3
        printf '%s' "$line"
        """

    @Test(arguments: [false, true])
    func `the same user's browser is taken`(_ v6: Bool) async throws {
        let listener = try LoopbackRedirectListener(host: v6 ? .ipv6 : .ipv4, requiresSameUser: true)
        async let query = listener.redirect(state: "s")
        #expect(try await listener.get("/callback?state=s", v6: v6).status == 303)
        #expect(try await query == "state=s")
    }

    /// Only root can be somebody else for a moment.
    @Test(.enabled(if: geteuid() == 0), arguments: [false, true])
    func `another user's program is ignored where the app wants that, and nowhere else`(_ v6: Bool) async throws {
        for isRequired in [true, false] {
            let listener = try LoopbackRedirectListener(host: v6 ? .ipv6 : .ipv4, requiresSameUser: isRequired)
            let waiting = Task { try await listener.redirect(state: "s") }
            let (port, authority) = (listener.port, listener.authority)
            let answer = try await onThread {
                try run(
                    "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "bash", "-c", Self.foreignProgram,
                    v6 ? "::1" : "127.0.0.1", "\(port)", authority)
            }
            let line = String(decoding: answer, as: UTF8.self)
            #expect(line.hasPrefix(isRequired ? "HTTP/1.1 400" : "HTTP/1.1 303"), "\(line)")
            #expect(listener.ignoredRequests == (isRequired ? 1 : 0))
            if isRequired { #expect(try await listener.get("/callback?state=s", v6: v6).status == 303) }
            #expect(try await waiting.value == "state=s")
        }
    }
}
