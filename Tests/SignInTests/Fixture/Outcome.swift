import Foundation
import JOSE
import Testing

extension String {
    /// The words of a message after these, which a user is to type.
    func advised(by words: String) -> String? { firstRange(of: words).map { String(self[$0.upperBound...]) } }
}

/// The exit status of a process, and all of its output.
struct Outcome: Sendable, CustomStringConvertible {
    /// The status as in a shell: for a killed process, 128 plus the signal's number.
    let status: CInt
    let output: String
    let errors: String

    init(status: CInt, output: [UInt8], errors: [UInt8]) {
        let signal = status & 0x7F
        self.status = signal == 0 ? (status >> 8) & 0xFF : 128 + signal
        (self.output, self.errors) = (String(decoding: output, as: UTF8.self), String(decoding: errors, as: UTF8.self))
    }

    var description: String { "status \(status)\noutput: \(output)\nerrors: \(errors)" }

    var errorLines: [String] { Self.lines(errors) }
    var outputLines: [String] { Self.lines(output) }

    private static func lines(_ text: String) -> [String] {
        var lines = text.components(separatedBy: "\n")
        if lines.last == "" { lines.removeLast() }
        return lines
    }

    /// Returns the only JSON object of the output.
    func json(sourceLocation: SourceLocation = #_sourceLocation) throws -> JSON {
        #expect(outputLines.count == 1, "\(self)", sourceLocation: sourceLocation)
        let json = try? JSON(parsing: Array(output.utf8))
        return try #require(
            json?.object == nil ? nil : json, "expected one JSON object: \(self)", sourceLocation: sourceLocation)
    }

    /// Returns the result of a successful command.
    func result(sourceLocation: SourceLocation = #_sourceLocation) throws -> JSON {
        #expect(status == 0, "\(self)", sourceLocation: sourceLocation)
        return try json(sourceLocation: sourceLocation)
    }

    /// Expects a failure with this status, with only `{"error":{"code":"…","message":"…"}}` on standard output, and
    /// with the same message in the tool's one line on standard error.
    ///
    /// - Returns: The message.
    @discardableResult
    func failure(
        _ expected: CInt = 1, _ code: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> String {
        #expect(status == expected, "\(self)", sourceLocation: sourceLocation)
        let json = try json(sourceLocation: sourceLocation)
        #expect(json.object?.members.map(\.name) == ["error"], "\(self)", sourceLocation: sourceLocation)
        #expect(
            json["error"]?.object?.members.map(\.name).sorted() == ["code", "message"], "\(self)",
            sourceLocation: sourceLocation)
        #expect(json["error"]?["code"]?.string == code, "\(self)", sourceLocation: sourceLocation)
        let message = try #require(json["error"]?["message"]?.string, "\(self)", sourceLocation: sourceLocation)
        let lines = errorLines.filter { $0.hasPrefix("sign-in: ") }
        #expect(lines == ["sign-in: \(message)"], "\(self)", sourceLocation: sourceLocation)
        return message
    }

    /// Expects wrong usage: status 2, and one line in all.
    @discardableResult
    func wrongUsage(sourceLocation: SourceLocation = #_sourceLocation) throws -> String {
        #expect(errorLines.count == 1, "\(self)", sourceLocation: sourceLocation)
        return try failure(2, "usage", sourceLocation: sourceLocation)
    }
}
