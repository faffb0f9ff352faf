internal import AppAuth
internal import FoundationEssentials
internal import Glibc
internal import JOSE
internal import ScriptedBrowser

/// A browser for tests to name in `$BROWSER`: opens the URL that is its last argument and plays the user's part.
///
/// `SCRIPTED_BROWSER_FORM` is what to enter into forms, as a query. `SCRIPTED_BROWSER_REPORT` names a file or a pipe that
/// is there and gets two lines of JSON: `{"arguments":[…]}` at the start, `{"page":"…"}` or `{"error":"…"}` at the end. The
/// error is on standard error too.
@main
enum Main {
    static func main() async {
        report(["arguments": .array(CommandLine.arguments.map(JSON.string))])
        do {
            var configuration = CurlTransport.Configuration(proxy: .none)
            // A browser visits the servers of all users.
            configuration.loopbackServers = .ofAllUsers
            let transport = CurlTransport(configuration)
            let browser = ScriptedBrowser(transport: transport, entries: try entries(), leave: leave)
            report(["page": .string(try await browser.visit(CommandLine.arguments.last ?? ""))])
        } catch {
            let text = (error as? AuthError)?.message ?? "\(error)"
            report(["error": .string(text)])
            put("scripted-browser: \(text)\n", to: STDERR_FILENO)
            // A browser that shows an error page has not failed: the program that started it goes on waiting.
            exit((error as? AuthError)?.httpStatus == nil ? 1 : 0)
        }
    }

    /// Hands a URL of another scheme to the desktop, as browsers do, and ends.
    private static func leave(_ url: String) throws {
        report(["page": ""])
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("xdg-open"), strdup(url), nil]
        execvp("xdg-open", &arguments)
        throw CocoaError(.executableNotLoadable)
    }

    private static func entries() throws -> [String: String] {
        let form = try SecureURL("https://entries.invalid/?" + (variable("SCRIPTED_BROWSER_FORM") ?? ""))
        return URLComponents(string: form.string)?.queryItems?.reduce(into: [:]) { $0[$1.name] = $1.value } ?? [:]
    }

    private static func report(_ line: JSON) {
        guard let path = variable("SCRIPTED_BROWSER_REPORT") else { return }
        // O_NONBLOCK only for opening: a pipe without a reader, because its test has ended, would block without end.
        let descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        guard fcntl(descriptor, F_SETFL, O_APPEND) == 0 else { return }
        put(line.serialized() + "\n", to: descriptor)
    }

    private static func put(_ text: String, to descriptor: CInt) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            guard written > 0 || errno == EINTR else { return }
            rest = rest.dropFirst(max(0, written))
        }
    }

    private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
