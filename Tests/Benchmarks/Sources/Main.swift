// appauth-bench: how fast the library is, by its public API only.
//
//     swift build -c release --package-path Tests/Benchmarks
//     Tests/Benchmarks/.build/release/appauth-bench COMMAND …
//
// Each command prints one line of JSON: `n` operations in `wall_s` seconds that took `cpu_s` seconds of CPU, and the
// members below. Exit status: 0 done, 1 something is missing or wrong (one line on standard error says what), 2 wrong usage.
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
// sign KEY SECONDS
//     Signs authorization requests (RFC 9101) with a key in a file, or in the device that a URI names, on one thread.
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
//     Drives the program listener-bench. That program is separate, because swift-nio, the peer, would count in the memory of
//     the library.

internal import BenchReport
internal import Glibc

@main
enum Main {
    // On the main thread, so that the measurements of one thread start no other.
    @MainActor static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        await report(as: "appauth-bench") { try await run(arguments) }
    }

    @MainActor private static func run(_ arguments: [String]) async throws -> Report {
        switch (arguments.first, arguments.count) {
        case ("verify", 4):
            return try verify(folder: arguments[1], algorithm: arguments[2], for: duration(arguments[3]))
        case ("authz", 2): return try authorize(for: duration(arguments[1]))
        case ("sign", 3): return try await sign(with: arguments[1], for: duration(arguments[2]))
        case ("herd", 2): return try await herd(of: count(arguments[1]))
        case ("api", 3): return try await api(width: count(arguments[1]), for: duration(arguments[2]))
        case ("listener", 3): throw becomeListener(arguments)
        default:
            throw Failure(
                usage: "expected verify DIR ALG SECONDS, authz SECONDS, sign KEY SECONDS, herd N, "
                    + "api WIDTH SECONDS, or listener SERVER SECONDS")
        }
    }

    /// - Returns: Why it could not.
    private static func becomeListener(_ arguments: [String]) -> Failure {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        guard readlink("/proc/self/exe", &path, path.count - 1) > 0, let name = strrchr(path, CInt(UInt8(ascii: "/")))
        else { return Failure("this program’s folder is not known") }
        let folder = String(decoding: path.prefix(while: { $0 != 0 }).map(UInt8.init(bitPattern:)), as: UTF8.self)
            .dropLast(strlen(name))
        let program = "\(folder)/listener-bench"
        var words = ([program] + arguments.dropFirst()).map { strdup($0) } + [nil]
        execv(program, &words)
        return Failure("expected the program \(program), found none that can be started")
    }
}
