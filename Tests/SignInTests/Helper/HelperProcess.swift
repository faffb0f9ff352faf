import Foundation
import Testing

extension CommandFixture {
    /// Starts a credential helper, and writes its input.
    func helper(_ name: String, _ arguments: [String], input: String, _ changes: [String: String?] = [:]) throws
        -> ChildProcess
    {
        let file = try #require(tmpfile())
        defer { fclose(file) }
        let bytes = Array(input.utf8)
        _ = write(fileno(file), bytes, bytes.count)
        lseek(fileno(file), 0, SEEK_SET)
        return try start(["helper", name] + arguments, changes, input: .descriptor(fileno(file)))
    }
}
