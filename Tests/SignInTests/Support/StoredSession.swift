import AppAuth
import Foundation
import JOSE

extension CommandFixture {
    /// The one stored session, as the library reads it.
    func record() throws -> AuthStateRecord { try AuthStateRecord(decoding: Array(session()), from: sessions) }

    /// Takes the rest of its life from the access token of the one stored session, as time would.
    func expire() throws { try Self.editSession(at: "\(sessions)/\(stored.first ?? "")") { $0.expire() } }

    /// Changes a stored session behind its store's back.
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
    /// Of a stored session: its access token is over.
    mutating func expire() { set(0, at: ["accessToken", "lifetime"]) }

    /// Of a stored session: the pause after failures is over.
    mutating func endPause() { set(0, at: ["trouble", "pause", "length"]) }

    private mutating func set(_ value: JSON, at path: ArraySlice<String>) {
        guard let name = path.first else { return }
        guard path.count > 1 else { return self[name] = value }
        guard var inner = self[name]?.object else { return }
        inner.set(value, at: path.dropFirst())
        self[name] = .object(inner)
    }
}
