internal import AppAuth
internal import JOSE

/// The invariants of a stored session.
enum StoredSessions {
    @Sendable static func check(_ input: [UInt8]) {
        do {
            let record = try AuthStateRecord(decoding: input, from: "fuzz")
            let written = try record.encoded()
            expect(
                (try? AuthStateRecord(decoding: written, from: "fuzz")) == record, "written and read: another session")
            expect(!"\(record)".contains("a secret of the session"), "a secret in a description")
        } catch let error as AuthError {
            expect(error.storeProblem == .damaged, "a session that was read and cannot be written: \(error)")
            expect(error.message.isOneLine && error.message.unicodeScalars.count <= 4000, "an error of several lines")
        } catch { fatalError("another error: \(error)") }
    }
}
