import Foundation
import TestFixtures

/// A process's standard input, into which a test writes.
final class Typing: Sendable {
    private let ends: (ours: CInt, theirs: CInt)

    init() throws { ends = try ChildProcess.pair() }

    deinit {
        close(ends.ours)
        close(ends.theirs)
    }

    var input: Spawn.Input { .descriptor(ends.theirs) }

    func write(_ text: String) { Typing.write(text, to: ends.ours) }

    /// Ends the input.
    func end() { shutdown(ends.ours, CInt(SHUT_WR)) }

    static func write(_ text: String, to descriptor: CInt) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else { return }
            rest = rest.dropFirst(max(0, count))
        }
    }
}
