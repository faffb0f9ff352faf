internal import AppAuth
internal import AppAuthConcurrency

/// The client keys that `--client-key` names.
enum DeviceKeys {
    /// Keys with a PIN, or why they could not be opened. A wrong PIN is not tried again: that would lock the device.
    private static let opened = LockedValue<[String: Result<ClientKey, any Error>]>([:])

    /// Opens the key of a URI, with the PIN in the file that `SIGN_IN_KEY_PIN_FILE` names, or reads a key from a file.
    static func open(_ name: String) throws -> ClientKey {
        guard ClientKey.isURI(name) else { return try ClientKey(file: name) }
        guard let path = variable(pinVariable) else { return try ClientKey(uri: name) }
        return try opened.withLock { opened in
            let key =
                opened[name] ?? Result { try ClientKey(uri: name, pin: SecretFile.read(path, of: pinVariable)) }
            opened[name] = key
            return try key.get()
        }
    }

    private static let pinVariable = "SIGN_IN_KEY_PIN_FILE"
}
