#if canImport(Glibc)
    internal import Glibc
#endif

/// Standard output and standard error, unbuffered: a parent process waits for the first line.
enum Output {
    static func line(_ text: String) { write(text + "\n", to: STDOUT_FILENO) }

    static func text(_ text: String) { write(text.hasSuffix("\n") ? text : text + "\n", to: STDOUT_FILENO) }

    static func errorLine(_ text: String) { write(text + "\n", to: STDERR_FILENO) }

    static func exit(_ status: Int32) -> Never { Glibc.exit(status) }

    private static func write(_ text: String, to descriptor: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, Array(rest), rest.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
