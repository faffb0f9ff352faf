internal import AppAuth
internal import Glibc

extension String {
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
