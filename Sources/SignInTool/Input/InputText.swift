internal import AppAuth
internal import Glibc

/// The standard input of a command that another program runs.
enum InputText {
    /// Reads it to its end.
    static func read(atMost limit: Int = 64 << 10) throws -> [UInt8] {
        do {
            return try InputFile.contents(of: STDIN_FILENO, atMost: limit) { () throws(InputFile.Problem) in
                var polled = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
                while poll(&polled, 1, 100) == 0 { if Task.isCancelled { throw .cancelled } }
            }
        } catch .cancelled { throw CancellationError() } catch {
            throw AuthError(.invalidConfiguration, .configuration, "standard input: \(error.description)")
        }
    }
}
