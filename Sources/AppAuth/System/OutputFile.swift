internal import Glibc

/// Writes to open files.
package enum OutputFile {
    /// Writes all bytes, and blocks the calling thread.
    package static func write(_ bytes: [UInt8], to descriptor: Int32) throws(SystemError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw SystemError(number: errno) }
            rest = rest.dropFirst(count)
        }
    }
}
