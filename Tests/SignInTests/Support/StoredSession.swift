import AppAuth
import Foundation
import JOSE

extension CommandFixture {
    /// Returns the only stored session, decoded.
    func record() throws -> AuthStateRecord { try AuthStateRecord(decoding: Array(session()), from: sessions) }

    /// Expires the access token of the only stored session, as time would.
    func expire() throws { try Self.editSession(at: "\(sessions)/\(stored.first ?? "")") { $0.expire() } }

    /// Changes a stored session without its store.
    static func editSession(at path: String, _ edit: (inout JSON.Object) -> Void) throws {
        let file = URL(fileURLWithPath: path)
        guard var json = try JSON(parsing: Array(Data(contentsOf: file))).object else {
            throw CocoaError(.fileReadCorruptFile, userInfo: [NSFilePathErrorKey: path])
        }
        edit(&json)
        try Data(JSON.object(json).serialized().utf8).write(to: file, options: .atomic)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }
}

extension JSON.Object {
    /// Expires the access token of a stored session.
    mutating func expire() { set(0, at: ["accessToken", "lifetime"]) }

    /// Ends the pause after failed refreshes of a stored session.
    mutating func endPause() { set(0, at: ["trouble", "pause", "length"]) }

    private mutating func set(_ value: JSON, at path: ArraySlice<String>) {
        guard let name = path.first else { return }
        guard path.count > 1 else { return self[name] = value }
        guard var inner = self[name]?.object else { return }
        inner.set(value, at: path.dropFirst())
        self[name] = .object(inner)
    }
}
