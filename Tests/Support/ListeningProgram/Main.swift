internal import AppAuth
internal import Glibc

/// A process with a listener and nothing else, whose memory and threads are the listener's.
///
/// Its argument is the same-user check. Prints the redirect URI, or why there is none; then waits for a redirect whose parameters end in `state=right`, and prints them and how many
/// requests were ignored. Ends with its standard input, if that comes first.
@main
enum Main {
    static func main() async throws {
        let lifeline = try SystemThread(named: "lifeline", for: .redirect) {
            var byte: UInt8 = 0
            while read(STDIN_FILENO, &byte, 1) > 0 {}
            exit(1)
        }
        lifeline.detach()
        let checks: [String: LoopbackRedirectListener.SameUserCheck] = ["required": .required, "off": .off]
        let check = CommandLine.arguments.last.flatMap { checks[$0] } ?? .automatic
        let listener: LoopbackRedirectListener
        do { listener = try LoopbackRedirectListener(responseMode: .formPost, sameUser: check) } catch {
            return say("error \((error as? AuthError)?.code.rawValue ?? "\(error)")")
        }
        say(listener.redirectURI)
        let parameters = try await listener.redirect { $0.hasSuffix("state=right") ? $0 : nil }
        say(parameters)
        say("\(listener.ignoredRequests)")
        await listener.finish(with: .signedIn())
    }

    private static func say(_ line: String) {
        print(line)
        fflush(nil)
    }
}
