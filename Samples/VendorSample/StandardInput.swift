internal import Dispatch
internal import Glibc

extension AsyncStream<String> {
    /// The lines of standard input, read on a thread that may block.
    public static var linesOfStandardInput: AsyncStream<String> {
        AsyncStream { continuation in
            DispatchQueue(label: "standard input").async {
                // Not readLine: while it waits, it holds a lock that the exit of the process needs.
                var (line, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 4096))
                while case let count = read(STDIN_FILENO, &buffer, buffer.count), count > 0, line.count < 64 << 10 {
                    line += buffer[..<count]
                    while let end = line.firstIndex(of: UInt8(ascii: "\n")) {
                        continuation.yield(String(decoding: line[..<end], as: UTF8.self))
                        line.removeFirst(end + 1)
                    }
                }
                continuation.finish()
            }
        }
    }
}
