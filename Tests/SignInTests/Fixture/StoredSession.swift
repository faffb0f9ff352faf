import AppAuth
import Foundation
import JOSE
import Testing

extension CommandFixture {
    /// Returns the only stored session, decoded.
    func record() throws -> AuthStateRecord { try AuthStateRecord(decoding: Array(session()), from: sessions) }

    /// Expires the access token of the only stored session, as time would.
    func expire() throws { try Self.editSession(at: "\(sessions)/\(stored.first ?? "")") { try $0.expire() } }

    /// Changes a stored session without its store.
    static func editSession(at path: String, _ edit: (inout JSON.Object) throws -> Void) throws {
        let file = URL(fileURLWithPath: path)
        guard var json = try JSON(parsing: Array(Data(contentsOf: file))).object else {
            throw CocoaError(.fileReadCorruptFile, userInfo: [NSFilePathErrorKey: path])
        }
        try edit(&json)
        try Data(JSON.object(json).serialized().utf8).write(to: file, options: .atomic)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }
}

extension JSON.Object {
    /// Expires the access token of a stored session.
    mutating func expire() throws { try set(0, at: ["accessToken", "lifetime"]) }

    /// Ends the pause after failed refreshes of a stored session.
    mutating func endPause() throws { try set(0, at: ["backoff", "pause", "length"]) }

    /// Replaces a value that must be there: a member may have got another name.
    private mutating func set(_ value: JSON, at path: ArraySlice<String>) throws {
        let name = try #require(path.first)
        guard path.count > 1 else {
            _ = try #require(self[name], "no member '\(name)'")
            return self[name] = value
        }
        var inner = try #require(self[name]?.object, "no member '\(name)'")
        try inner.set(value, at: path.dropFirst())
        self[name] = .object(inner)
    }
}
