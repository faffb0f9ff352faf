internal import AppAuthConcurrency

extension Environment {
    /// Finds the PIN of a DPoP key in a device (``ClientConfiguration/dpopKeyProvider``), by the URI of the key or its token.
    ///
    /// Called only if the device asks for a PIN, which it does again after a wrong one. Do not return the same PIN then: a
    /// card locks itself after a few wrong ones. The PIN is not stored. The process stays logged in to a PKCS#11 token until
    /// it ends.
    public var keyPIN: @Sendable (_ uri: String) async throws -> Secret {
        get { self[KeyPINSource.self].find }
        set { self[KeyPINSource.self].find = newValue }
    }
}

extension OwnThread {
    /// Runs work with a key in a device: without a PIN, and again with one if the device asks for it.
    func run<Value: Sendable>(
        askingForPIN ask: @Sendable () async throws -> Secret,
        _ work: @escaping @Sendable (_ pin: Secret?) throws -> Value
    ) async throws -> Value {
        do { return try await run { try work(nil) } } catch let error as AuthError where error.needsPIN {}
        let pin = try await ask()
        return try await run { try work(pin) }
    }
}

private struct KeyPINSource: EnvironmentKey, Sendable {
    var find: @Sendable (String) async throws -> Secret

    static let defaultValue = KeyPINSource { uri in
        throw AuthError(
            .invalidConfiguration, .configuration,
            "expected Environment.keyPIN to return the PIN of the key \(uri.foundText), found none")
    }
}
