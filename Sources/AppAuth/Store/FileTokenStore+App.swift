internal import AppAuthProtocol
internal import AppAuthSession
internal import Glibc
internal import JOSE

extension FileTokenStore {
    /// Creates the store of an app: `$XDG_STATE_HOME/ID/session.json`, or `~/.local/state/ID/session.json` if the variable
    /// is not set to an absolute path (XDG Base Directory Specification).
    ///
    /// - Parameters:
    ///   - appID: The name of the folder, for example `com.example.MyApp`. An app with several sessions needs a store with
    ///     a path of its own for each, see ``init(path:encryptionKeys:)``.
    ///   - encryptionKeys: The first key encrypts, and all of them decrypt. Without keys, only the mode of the file
    ///     protects the session.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` for an ID that cannot be the name of a folder,
    ///   and with ``AuthError/Code/store`` if the user has no home folder.
    public init(appID: String, encryptionKeys: [SessionEncryptionKey] = []) throws {
        try self.init(appID: appID, encryptionKeys: encryptionKeys) { try PathVariable.value($0) }
    }

    /// - Parameter variable: Returns the value of an environment variable.
    package init(
        appID: String, encryptionKeys: [SessionEncryptionKey] = [], variable: (String) throws -> String?
    ) throws {
        guard !appID.isEmpty, appID != ".", appID != "..", !appID.utf8.contains(where: { $0 == 0 || $0 == 0x2F }) else {
            throw AuthError(
                .invalidConfiguration, .configuration,
                "expected an app ID that can be the name of a folder, found \(appID.foundText)")
        }
        let folder =
            if let state = try variable("XDG_STATE_HOME"), state.hasPrefix("/") { state } else {
                try (variable("HOME") ?? HomeFolder.path(for: "the session of \(appID)")) + "/.local/state"
            }
        self.init(path: "\(folder)/\(appID)/session.json", encryptionKeys: encryptionKeys)
    }
}
