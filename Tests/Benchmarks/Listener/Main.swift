// listener-bench: the listener for redirects, measured by itself and beside others.
//
// SERVER SECONDS
//     How soon a listener is bound, and how many redirects with a wrong state it rejects, each on a connection of its own;
//     another process sends them, two at a time. SERVER is `appauth`, or for comparison `poll`, a bare loop that sends as
//     many bytes and parses nothing, or `nio`, swift-nio's HTTP server. `bound_us` is the first call to its return, with
//     libcrypto at work before, `rebound_us` the median of later ones; `rss_kb` the resident memory before, `bound_rss_kb`
//     then and `load_rss_kb` at the end, which is why a process serves one of them; `threads` is the number of all threads
//     of the process under load, `cpu_s` its CPU without the clients'.

internal import BenchReport

@main
enum Main {
    @MainActor static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        await report(as: "listener-bench") {
            switch (arguments.first, arguments.count) {
            // The other process.
            case ("load", 3): return try await listenerLoad(port: count(arguments[1]), for: duration(arguments[2]))
            case (let server?, 2): return try await listener(named: server, for: duration(arguments[1]))
            default: throw Failure(usage: "expected SERVER SECONDS")
            }
        }
    }
}
