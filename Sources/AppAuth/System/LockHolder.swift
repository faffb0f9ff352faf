internal import AppAuthConcurrency
internal import CShims
internal import Glibc
internal import JOSE

/// The process that holds a lock, for messages.
///
/// The kernel reports the process (`l_pid`) only for locks of a process, not for locks of an open file description. So
/// each process writes its ID into the lock file when it takes a lock, and clears it on release.
enum LockHolder {
    /// The length of a line. Each lock has one line, and the file contains nothing else.
    private static let length = 32
    /// The length of the whole file.
    static let room = 2 * length

    /// Writes or clears this process's name. It is only for messages, so errors are ignored.
    static func note(_ isHeld: Bool, at index: Int, in descriptor: Int32) {
        guard isOurs(descriptor) else { return }
        let name = isHeld ? ownName() : ""
        let line = Array(name.utf8.prefix(length - 1))
        let bytes = line + Array(repeating: UInt8(ascii: " "), count: length - 1 - line.count) + [UInt8(ascii: "\n")]
        _ = shims_write_at(descriptor, bytes, bytes.count, off_t(index * length))
    }

    /// Returns the holder of a lock: `process 4711 (my-app)`, or `another process` if it is unknown. Returns nil if no
    /// other process or descriptor holds the lock.
    static func description(at index: Int, in descriptor: Int32) -> String? {
        let holder = shims_lock_holder(descriptor, off_t(index))
        guard holder != 0 else { return nil }
        return named(holder, at: index, in: descriptor) ?? "another process"
    }

    private static func named(_ holder: pid_t, at index: Int, in descriptor: Int32) -> String? {
        if holder > 0 { return Status(of: holder).map { "process \(holder) (\($0.name))" } }
        var bytes = [UInt8](repeating: 0, count: length)
        guard isOurs(descriptor), pread(descriptor, &bytes, length, off_t(index * length)) == length else { return nil }
        let words = String(decoding: bytes, as: UTF8.self).split { $0 == " " || $0 == "\n" }
        guard words.count == 2, let id = pid_t(words[0]), let status = Status(of: id), status.start == words[1] else {
            return nil
        }
        return "process \(id) (\(status.name))"
    }

    /// Returns whether the file contains only such lines. A file of that name may have existed before.
    private static func isOurs(_ descriptor: Int32) -> Bool {
        var bytes = [UInt8](repeating: 0, count: room + 1)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        guard (0...room).contains(count) else { return false }
        return bytes[..<count].allSatisfy { $0.isASCIIDigit || [0, 32, 10].contains($0) }
    }

    /// Returns the process ID and its start time. The ID by itself may belong to another process by now, or to another
    /// machine that shares the file over NFS.
    private static func ownName() -> String {
        let id = getpid()
        return own.withLock { own in
            // Recompute it in a forked child.
            if own.id != id { own = (id, Status(of: id).map { "\(id) \($0.start)" } ?? "") }
            return own.name
        }
    }

    private static let own = LockedValue<(id: pid_t, name: String)>((0, ""))

    /// The content of `/proc/PID/stat`, proc(5).
    private struct Status {
        let name: Substring
        /// The start time in clock ticks since boot.
        let start: Substring

        init?(of id: pid_t) {
            guard let bytes = try? InputFile.read("/proc/\(id)/stat", atMost: 4096) else { return nil }
            let text = String(decoding: bytes, as: UTF8.self)
            // The name may contain any character, including parentheses. The start is the 20th field after it.
            guard let end = text.lastIndex(of: ")"),
                let start = text[end...].split(separator: " ").dropFirst(20).first
            else { return nil }
            (name, self.start) = (text[..<end].drop { $0 != "(" }.dropFirst(), start)
        }
    }
}
