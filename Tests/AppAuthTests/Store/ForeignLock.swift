import Foundation
import TestFixtures
import Testing

/// Another program that has a lock of a file's, of the kind that belongs to a process (`F_SETLK`).
final class ForeignLock: Sendable {
    let id: pid_t
    private let end: FileHandle

    /// - Parameter byte: 0 for the session, 1 for the refresh token.
    init(of path: String, byte: Int) throws {
        let script = """
            $| = 1; open(F, "+>>", $ARGV[0]) or die;
            fcntl(F, F_SETLK, pack("ssx4qqlx4", F_WRLCK, 0, $ARGV[1], 1, 0)) or die;
            print "locked\\n"; <STDIN>;
            """
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/perl")
        process.arguments = ["-MFcntl", "-e", script, path, String(byte)]
        let (input, output) = (Pipe.exclusive(), Pipe.exclusive())
        (process.standardInput, process.standardOutput) = (input, output)
        try process.run()
        (id, end) = (process.processIdentifier, input.fileHandleForWriting)
        #expect(output.fileHandleForReading.availableData == Data("locked\n".utf8))
    }

    /// Ends the program, and with it the lock. It gets a line, since a program that another test starts at the same time may have
    /// inherited the other end of a pipe that is only closed.
    func release() throws {
        try end.write(contentsOf: Data("\n".utf8))
        try end.close()
    }
}
