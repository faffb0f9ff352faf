import Foundation
import TestFixtures

/// A terminal on which a test types. The process's standard output and standard error are not on it.
final class Pseudoterminal: Sendable {
    /// The way in which a terminal delivers typed input.
    enum Mode: Equatable, Sendable {
        /// Lines, with echo: the mode that every shell sets.
        case lines
        /// Bytes, without echo.
        case bytes
        case other
    }

    private let keyboard: CInt
    /// Held open, so that the terminal outlives the process.
    private let screen: CInt
    private let path: String

    init() throws {
        keyboard = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        path = try Self.unlock(keyboard)
        screen = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard screen >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    }

    /// Unlocks the other end and returns its name. Swift does not import the two functions.
    private static func unlock(_ keyboard: CInt) throws -> String {
        typealias Unlock = @convention(c) (CInt) -> CInt
        typealias Name = @convention(c) (CInt, UnsafeMutablePointer<CChar>, Int) -> CInt
        guard let unlock = dlsym(nil, "unlockpt"), let name = dlsym(nil, "ptsname_r") else { throw POSIXError(.ENOSYS) }
        var path = [CChar](repeating: 0, count: 64)
        guard keyboard >= 0, unsafeBitCast(unlock, to: Unlock.self)(keyboard) == 0,
            unsafeBitCast(name, to: Name.self)(keyboard, &path, path.count) == 0
        else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        return path.withUnsafeBytes { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }

    deinit {
        close(keyboard)
        close(screen)
    }

    var input: Spawn.Input { .terminal(path) }

    /// Sets the number of lines. Without it, the terminal does not know its size.
    func resize(rows: UInt16) {
        var size = winsize(ws_row: rows, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(screen, UInt(TIOCSWINSZ), &size)
    }

    /// Types these keys.
    func type(_ keys: String) { Typing.write(keys, to: keyboard) }

    var mode: Mode {
        var modes = termios()
        guard tcgetattr(screen, &modes) == 0 else { return .other }
        switch (modes.c_lflag & tcflag_t(ICANON) != 0, modes.c_lflag & tcflag_t(ECHO) != 0) {
        case (true, true): return .lines
        case (false, false): return .bytes
        default: return .other
        }
    }

    /// Waits until the terminal has this mode.
    func wait(for wanted: Mode) async throws {
        try await waitUntil { mode == wanted }
    }

    /// Returns the text on the screen, which is the echo of the input.
    func shown() -> String {
        var poller = pollfd(fd: keyboard, events: Int16(POLLIN), revents: 0)
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while poll(&poller, 1, 0) == 1, poller.revents & Int16(POLLIN) != 0 {
            let count = read(keyboard, &buffer, buffer.count)
            guard count > 0 else { break }
            text += buffer[..<count]
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The process group that receives the keys.
    var foreground: pid_t { tcgetpgrp(keyboard) }
}
