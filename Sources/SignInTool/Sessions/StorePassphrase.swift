internal import AppAuth
internal import Glibc

/// The passphrase of encrypted session files: in the file that `SIGN_IN_PASSPHRASE_FILE` names, or in the systemd
/// credential `sign-in-passphrase`.
enum StorePassphrase {
    /// Read once, since the file may be a pipe.
    private static let key = Result { try SessionEncryptionKey(passphrase: read()) }

    /// Returns the store of an encrypted file. Without a passphrase, the file can be listed and set aside, but not read.
    ///
    /// - Throws: `CancellationError`.
    static func file(_ path: String) throws -> FileTokenStore {
        let key: SessionEncryptionKey
        do { key = try Self.key.get() } catch let error as AuthError { key = SessionEncryptionKey(missing: error) }
        return FileTokenStore(path: path, encryptionKeys: [key])
    }

    /// Throws if there is no passphrase, for a session that is to be written.
    static func require() throws { _ = try key.get() }

    private static func read() throws -> Secret {
        let name = "SIGN_IN_PASSPHRASE_FILE"
        if let path = variable(name) { return try SecretFile.read(path, of: name) }
        if let folder = variable("CREDENTIALS_DIRECTORY"), access("\(folder)/sign-in-passphrase", F_OK) == 0 {
            return try SecretFile.read("\(folder)/sign-in-passphrase", of: nil)
        }
        throw AuthError(
            .invalidConfiguration, .configuration,
            "the passphrase is missing. Set SIGN_IN_PASSPHRASE_FILE to the path of a file that contains it, or load the "
                + "systemd credential sign-in-passphrase")
    }
}
