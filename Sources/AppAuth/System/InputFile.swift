internal import Glibc

/// Reads whole files that somebody has named, and never more of them than is asked for.
package enum InputFile {
    package enum Problem: Error {
        /// What the system says, by its number.
        case system(Int32)
        case larger(than: Int)
        /// A folder, a pipe or a device.
        case irregular
        /// The task was cancelled before the pipe had an end.
        case cancelled

        /// In words, to stand behind the name of the file.
        package var description: String {
            switch self {
            case .system(let error): SystemError.text(error)
            case .larger(let limit): "expected at most \(limit >> 10) KiB"
            case .irregular: "expected a regular file, found a folder, a pipe or a device"
            case .cancelled: "was not read to its end"
            }
        }
    }

    /// Reads a regular file, and nothing that could hold the thread up or is gone once it was read.
    package static func read(_ path: String, atMost limit: Int) throws(Problem) -> [UInt8] {
        try read(path) { (descriptor) throws(Problem) in
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { throw .system(errno) }
            guard status.st_mode & S_IFMT == S_IFREG else { throw .irregular }
            return try contents(of: descriptor, atMost: limit)
        }
    }

    /// Reads a file or a pipe, such as a shell's `<(command)` or `/dev/stdin`. It holds its thread up until whoever writes
    /// has come and gone, or the task is cancelled.
    package static func readWaiting(_ path: String, atMost limit: Int) throws(Problem) -> [UInt8] {
        try read(path) { (descriptor) throws(Problem) in
            try contents(of: descriptor, atMost: limit) { () throws(Problem) in
                var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                while poll(&polled, 1, 100) == 0 { if Task.isCancelled { throw .cancelled } }
            }
        }
    }

    /// Reads on to the end of what is open.
    ///
    /// - Parameter wait: Returns when there is something to read, or the end; nil for a file, which always has one of them.
    package static func contents(
        of descriptor: Int32, atMost limit: Int, wait: (() throws(Problem) -> Void)? = nil
    ) throws(Problem) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: min(16 << 10, limit + 1))
        while true {
            try wait?()
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR || errno == EAGAIN && wait != nil { continue }
            guard count >= 0 || errno != EAGAIN else { throw .irregular }
            guard count >= 0 else { throw .system(errno) }
            guard count > 0 else { return bytes }
            bytes += buffer[..<count]
            guard bytes.count <= limit else { throw .larger(than: limit) }
        }
    }

    private static func read(
        _ path: String, _ body: (Int32) throws(Problem) -> [UInt8]
    ) throws(Problem) -> [UInt8] {
        // Not waiting for whoever writes to a pipe.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .system(errno) }
        defer { close(descriptor) }
        return try body(descriptor)
    }
}
