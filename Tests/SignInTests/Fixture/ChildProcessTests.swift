import Foundation
import TestFixtures
import Testing

/// An exit test waits in vain while another child of the tests has ended and is not reaped.
struct ChildProcessTests {
    @Test func `a process that nobody waits for is reaped, even if a child of it keeps its output open`() async throws {
        let (ours, theirs) = try ChildProcess.pair()
        defer { close(ours) }
        let id: pid_t
        do {
            defer { close(theirs) }
            // `cat` lives until our end of its input is closed.
            let process = try ChildProcess(
                ["sh", "-c", "echo >&2 started; exec 3<&0; cat <&3 & wait"], environment: ["PATH": "/usr/bin:/bin"],
                input: .descriptor(theirs))
            _ = try await process.line { $0 == "started" }
            id = process.id
        }
        try await waitUntil { kill(id, 0) != 0 }
    }
}
