import Foundation
import TestFixtures
import Testing

extension CommandFixture {
    /// Starts a credential helper, and writes its input.
    func helper(
        _ name: String, _ arguments: [String], input: String, under prefix: [String] = []
    ) throws -> ChildProcess {
        try ChildProcess(
            prefix + [BuiltProducts.path("sign-in"), "helper", name] + arguments, environment: environment, text: input)
    }
}

extension ChildProcess {
    /// Starts a program that gets this text as its input.
    convenience init(_ arguments: [String], environment: [String: String], text: String) throws {
        let file = try #require(tmpfile())
        defer { fclose(file) }
        let bytes = Array(text.utf8)
        _ = write(fileno(file), bytes, bytes.count)
        lseek(fileno(file), 0, SEEK_SET)
        try self.init(arguments, environment: environment, input: .descriptor(fileno(file)))
    }
}
