// appauth-bench: how fast the library is, by its public API alone.
//
//     swift build -c release --package-path Tests/Benchmarks
//     Tests/Benchmarks/.build/release/appauth-bench COMMAND …
//
// Each command prints one line of JSON: `n` operations in `wall_s` seconds that took `cpu_s` seconds of CPU, and what is
// named below. Exit status: 0 done, 1 something is missing or wrong (one line on standard error says what), 2 wrong usage.
//
// verify DIR ALG SECONDS
//     Verifies ID tokens on one thread: signature, iss, aud, exp and nonce of each. DIR holds the provider's keys,
//     jwks.json, and ALG.txt with a token, a tab and its nonce in each line; the list is gone through again and again.
//     Issuer and audience are those of the first token. Tokens that have expired are verified as of when they were
//     issued. Compare with `openssl speed rsa2048 ecdsap256 ed25519`.
//
// authz SECONDS
//     Makes authorization requests: PKCE, state, nonce and URL. `len` is the length of the URL.
//
// herd N
//     N tasks want a fresh token of one session at the same time. The session is in the file $STATE: JSON with
//     token_endpoint, access_token, refresh_token, token_type, expires_at (seconds since 1970, or as RFC 3339 has it) and
//     perhaps client_id. `good` is how many tasks got a token.
//
// api WIDTH SECONDS
//     GETs of the URL $API, WIDTH at a time, by the transport alone (`bare_n`, `bare_cpu`, `bare_wall`) and by a session
//     with the token `bench-token` (`auth_n`, `auth_cpu`, `auth_wall`), by turns in slices of 100 ms.
//
// listener SERVER SECONDS
//     How soon a listener is bound, and how many redirects with a wrong state it answers, each on a connection of its own;
//     another process brings them, two at a time. SERVER is `appauth`, or for comparison `poll`, a bare loop that sends as
//     many bytes and looks at nothing, or `nio`, swift-nio's HTTP server. `bound_us` is the first call to its return, with
//     libcrypto at work before, `rebound_us` the median of later ones; `rss_kb` the resident memory before, `bound_rss_kb`
//     then and `load_rss_kb` at the end, which is why a process serves one of them; `threads` is the number of all threads
//     of the process under load, `cpu_s` its CPU without the clients'.

internal import Glibc

@main
enum Main {
    // On the main thread, so that what needs one thread has no other.
    @MainActor static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            print(try await run(arguments).line)
        } catch let error as Failure {
            fail(error.message, status: error.isUsage ? 2 : 1)
        } catch {
            fail("\(error)", status: 1)
        }
    }

    @MainActor private static func run(_ arguments: [String]) async throws -> Report {
        switch (arguments.first, arguments.count) {
        case ("verify", 4):
            return try verify(folder: arguments[1], algorithm: arguments[2], for: duration(arguments[3]))
        case ("authz", 2): return try authorize(for: duration(arguments[1]))
        case ("herd", 2): return try await herd(of: count(arguments[1]))
        case ("api", 3): return try await api(width: count(arguments[1]), for: duration(arguments[2]))
        case ("listener", 3): return try await listener(named: arguments[1], for: duration(arguments[2]))
        // The other process of `listener`.
        case ("listener-load", 3): return try await listenerLoad(port: count(arguments[1]), for: duration(arguments[2]))
        default:
            throw Failure(
                usage: "expected verify DIR ALG SECONDS, authz SECONDS, herd N, api WIDTH SECONDS, "
                    + "or listener SERVER SECONDS")
        }
    }

    private static func duration(_ text: String) throws -> Duration {
        guard let seconds = Double(text), seconds > 0, seconds < 86_400 else {
            throw Failure(usage: "expected a number of seconds, found '\(text)'")
        }
        return .milliseconds(Int64(seconds * 1000))
    }

    private static func count(_ text: String) throws -> Int {
        guard let count = Int(text), count > 0, count <= 10_000_000 else {
            throw Failure(usage: "expected a number from 1, found '\(text)'")
        }
        return count
    }

    private static func fail(_ message: String, status: Int32) -> Never {
        fflush(nil)
        let line = Array("appauth-bench: \(message)\n".utf8)
        _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
        exit(status)
    }
}
