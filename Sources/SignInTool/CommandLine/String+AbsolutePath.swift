internal import AppAuth
internal import Glibc

extension String {
    /// The name of a client's key as it is stored: a URI, or an absolute path.
    var absoluteKeyName: String { get throws { ClientKey.isURI(self) ? self : try absolutePath } }

    /// The path as an absolute one, which is stored: later commands may run in another folder.
    var absolutePath: String {
        get throws {
            if hasPrefix("/") { return self }
            let folder = getcwd(nil, 0)
            defer { free(folder) }
            guard let folder, let path = String(validatingCString: folder) else {
                throw AuthError(
                    .store, .store,
                    "\(self) is in a folder that cannot be named: expected a working folder whose path is UTF-8",
                    outcome: .notSent)
            }
            return "\(path)/\(self)"
        }
    }
}
