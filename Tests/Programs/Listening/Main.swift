internal import AppAuth
internal import Glibc
internal import HTTPTypes

/// A process with a listener and nothing else, whose memory and threads are the listener's. With an argument, one that looks
/// for a provider there instead, and prints the code of the error.
///
/// Its last argument is the same-user check; `patient` before it gives each request a minute. Prints the redirect URI, or why there is none; then waits for a redirect whose parameters end in `state=right`, and prints them and how many
/// requests were ignored. Ends with its standard input, if that comes first.
///
/// With `full`, each byte of its standard input is an order after that: to leave no descriptor free, to go on, and to show
/// the last page.
///
/// With `get URL MILLISECONDS` it sends a request instead, with that limit, and prints the status and the length of the
/// response, or the code of the error; with `twice`, another one after that. A test can stop the process meanwhile.
@main
enum Main {
    static func main() async throws {
        if let issuer = CommandLine.arguments.dropFirst().first, issuer.hasPrefix("http") {
            do { _ = try await Discovery(environment: .live).metadata(for: Issuer(issuer)) } catch let error
                as AuthError
            {
                say(error.code.rawValue)
            }
            return
        }
        let (stream, order) = AsyncStream.makeStream(of: Void.self)
        let lifeline = try SystemThread(named: "lifeline", for: .redirect) {
            var byte: UInt8 = 0
            while read(STDIN_FILENO, &byte, 1) > 0 { order.yield() }
            exit(1)
        }
        lifeline.detach()
        let arguments = CommandLine.arguments
        if arguments.count > 3, arguments[1] == "get" {
            return try await get(arguments[2], Int(arguments[3]) ?? 0, times: arguments.last == "twice" ? 2 : 1)
        }
        let checks: [String: LoopbackRedirectListener.SameUserCheck] = ["required": .required, "off": .off]
        let check = CommandLine.arguments.last.flatMap { checks[$0] } ?? .automatic
        var limits = ListenerLimits()
        if arguments.contains("patient") { limits.requestTime = .seconds(60) }
        let listener: LoopbackRedirectListener
        do {
            listener = try LoopbackRedirectListener(responseMode: .formPost, sameUser: check, limits: limits)
        } catch {
            return say("error \((error as? AuthError)?.code.rawValue ?? "\(error)")")
        }
        say(listener.redirectURI)
        let parameters = try await listener.redirect { $0.hasSuffix("state=right") ? $0 : nil }
        say(parameters)
        say("\(listener.ignoredRequests)")
        if arguments.contains("full") {
            var orders = stream.makeAsyncIterator()
            await orders.next()
            takeDescriptors()
            for _ in 1...2 {
                say("full")
                await orders.next()
            }
        }
        await listener.finish(with: .signedIn())
    }

    private static func get(_ url: String, _ milliseconds: Int, times: Int) async throws {
        let parts = url.split(separator: "/", omittingEmptySubsequences: false)
        var limits = HTTPLimits.default
        limits.total = .milliseconds(milliseconds)
        let request = HTTPRequest(method: .get, scheme: "http", authority: String(parts[2]), path: "/")
        let transport = CurlTransport()
        for _ in 1...times {
            do {
                let response = try await transport.send(TransportRequest(request, limits: limits))
                say("\(response.status.code) \(response.body.count)")
            } catch let error as AuthError { say(error.code.rawValue) }
        }
    }

    /// From now on no connection can be accepted, unless another is closed.
    private static func takeDescriptors() {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        getrlimit(resource, &limit)
        limit.rlim_cur = min(limit.rlim_cur, 64)
        setrlimit(resource, &limit)
        while dup(STDIN_FILENO) >= 0 {}
    }

    private static func say(_ line: String) {
        print(line)
        fflush(nil)
    }
}
