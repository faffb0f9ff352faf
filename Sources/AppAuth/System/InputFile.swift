internal import Glibc

/// Reads complete files up to a size limit.
package enum InputFile {
    package enum Problem: Error {
        /// A system error, by its number.
        case system(Int32)
        case larger(than: Int)
        /// The path is a folder, a pipe or a device.
        case irregular
        /// The task was cancelled before the end of the pipe.
        case cancelled

        /// A description that follows the name of the file in a message.
        package var description: String {
            switch self {
            case .system(let error): SystemError.text(error)
            case .larger(let limit): "expected at most \(limit >> 10) KiB"
            case .irregular: "expected a regular file, found a folder, a pipe or a device"
            case .cancelled: "was not read completely"
            }
        }
    }

    /// Reads a regular file. It rejects other files, which could block the thread or be consumed by reading.
    package static func read(_ path: String, atMost limit: Int) throws(Problem) -> [UInt8] {
        try read(path) { (descriptor) throws(Problem) in
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { throw .system(errno) }
            guard status.st_mode & S_IFMT == S_IFREG else { throw .irregular }
            return try contents(of: descriptor, atMost: limit)
        }
    }

    /// Reads a file or a pipe, such as a shell's `<(command)` or `/dev/stdin`. It blocks its thread until the writer
    /// has closed the pipe or the task is cancelled.
    package static func readWaiting(_ path: String, atMost limit: Int) throws(Problem) -> [UInt8] {
        try read(path) { (descriptor) throws(Problem) in
            try contents(of: descriptor, atMost: limit) { () throws(Problem) in
                var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                while poll(&polled, 1, 100) == 0 { if Task.isCancelled { throw .cancelled } }
            }
        }
    }

    /// Reads an open file to its end.
    ///
    /// - Parameter wait: Returns once there is data to read, or the end. Nil for a regular file, which never waits.
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
        // O_NONBLOCK: do not wait for the writer of a pipe.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .system(errno) }
        defer { close(descriptor) }
        return try body(descriptor)
    }
}
