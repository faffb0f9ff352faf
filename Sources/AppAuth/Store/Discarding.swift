internal import AppAuthProtocol
internal import CShims
internal import Glibc

extension AuthError {
    /// What the errors of stores say that have ``FileTokenStore/discard()`` or ``KeyringTokenStore/discard()``.
    package static let discardHint = ": discard() sets it aside"

    /// The same error, with the way out.
    var withDiscardHint: AuthError {
        guard storeProblem == .damaged, !message.hasSuffix(Self.discardHint) else { return self }
        var error = self
        error.message += Self.discardHint
        return error
    }
}

/// Calls something that reads a store.
func hintingAtDiscard<Value>(_ read: () throws -> Value) throws -> Value {
    do { return try read() } catch let error as AuthError { throw error.withDiscardHint }
}

/// A file that makes room for another one.
enum AsideFile {
    /// Renames a file, a folder or a link, and never what a link points to, to a name that is free.
    ///
    /// - Returns: The new path; nil if nothing is there.
    static func move(_ path: String, location: String) throws -> String? {
        let stem = "\(path).damaged-\(Self.date)"
        for count in 1...100 {
            let name = count == 1 ? stem : "\(stem)-\(count)"
            if shims_rename_to_free_name(path, name) == 0 { return name }
            if errno == ENOENT { return nil }
            guard errno == EEXIST else { break }
        }
        throw AuthError.store(location, "cannot be set aside", errno: errno)
    }

    /// The time as names of files and entries have it: `20261123T084300Z`.
    static var date: String {
        var (now, parts) = (time(nil), tm())
        gmtime_r(&now, &parts)
        var text = [CChar](repeating: 0, count: 32)
        let count = strftime(&text, text.count, "%Y%m%dT%H%M%SZ", &parts)
        return String(decoding: text[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
