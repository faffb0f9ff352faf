internal import AppAuth
internal import Glibc

/// The passphrase of encrypted session files: in the file that `SIGN_IN_PASSPHRASE_FILE` names, or in the systemd
/// credential `sign-in-passphrase`.
enum StorePassphrase {
    /// Read once, since the file may be a pipe.
    private static let key = Result { try SessionEncryptionKey(passphrase: SecretFile.read(source())) }

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

    private static func source() throws -> String {
        if let path = variable("SIGN_IN_PASSPHRASE_FILE") { return path }
        if let folder = variable("CREDENTIALS_DIRECTORY"), access("\(folder)/sign-in-passphrase", F_OK) == 0 {
            return "\(folder)/sign-in-passphrase"
        }
        throw AuthError(
            .invalidConfiguration, .configuration,
            "the passphrase is missing. Set SIGN_IN_PASSPHRASE_FILE to the path of a file that contains it, or load the "
                + "systemd credential sign-in-passphrase",
            outcome: .notSent)
    }
}
