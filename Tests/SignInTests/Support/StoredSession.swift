import AppAuth

extension Desk {
    /// The one stored session, as the library reads it.
    func record() throws -> AuthStateRecord { try AuthStateRecord(decoding: Array(session()), from: sessions) }
}
