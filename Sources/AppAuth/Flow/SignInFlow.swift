public import AppAuthProtocol
public import AppAuthSession

/// A way to sign a user in: ``SignIn`` with the browser, ``DeviceSignIn`` with a code on another device.
///
/// The properties of its ``configuration`` can be used as its own: `signIn.dpop = .es256`.
@dynamicMemberLookup
public protocol SignInFlow: Sendable {
    /// The client for which the user signs in.
    var configuration: ClientConfiguration { get set }

    /// Signs the user in and stores the session, replacing any stored session.
    ///
    /// - Throws: ``AuthError``; `CancellationError`.
    func run(store: any TokenStore) async throws -> AuthState
}

extension SignInFlow {
    /// A property of ``configuration``.
    public subscript<Value>(dynamicMember property: WritableKeyPath<ClientConfiguration, Value>) -> Value {
        get { configuration[keyPath: property] }
        set { configuration[keyPath: property] = newValue }
    }

    /// Returns the stored session, or signs the user in if no stored session can be used; see ``restore(store:)``.
    ///
    /// Scopes and resources are not compared. If a new version of the app needs another scope, check the session's
    /// ``AuthStateRecord/scope``, and call ``run(store:)`` if the scope is missing.
    ///
    /// - Throws: The errors of ``run(store:)``.
    public func restoreOrSignIn(store: any TokenStore) async throws -> AuthState {
        if let state = try await restore(store: store) { return state }
        return try await run(store: store)
    }

    /// Returns the stored session, or nil if it cannot be used. Sends nothing to the provider and opens no browser, so it
    /// works offline. A locked keyring may ask the user.
    ///
    /// A stored session cannot be used if it belongs to another issuer or client, if it has no user because it began with
    /// the client credentials grant, if it has ended, if ``ClientConfiguration/dpop`` is set and its tokens are not
    /// bound to a key, or if its access token has expired and it cannot be renewed.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/store`` if the store cannot be read, and
    ///   with ``AuthError/Code/invalidConfiguration`` for settings that cannot be used; `CancellationError`.
    public func restore(store: any TokenStore) async throws -> AuthState? {
        try AuthState.restore(
            await store.convertingErrors { try await store.load() }, as: configuration, store: store)
    }

    /// Returns a store in the user's keyring for the session of this client at this issuer.
    ///
    /// - Parameter application: The name of the app in the keyring, for example `com.example.MyApp`.
    public func keyringStore(application: String) -> KeyringTokenStore {
        KeyringTokenStore(
            application: application, issuer: configuration.issuer, clientID: configuration.clientID)
    }

    /// Chooses the user's keyring for the session of this client at this issuer, or else the app's file, if the keyring
    /// cannot be used; see ``KeyringTokenStore/orElse(_:call:)``.
    ///
    /// ```swift
    /// let choice = try await signIn.keyringOrFile(appID: "org.example.MyApp")
    /// let state = try await signIn.restoreOrSignIn(store: choice.store)
    /// ```
    ///
    /// The choice is made once, by a trial, which may prompt the user. Call it once at start, and keep the result.
    ///
    /// - Parameters:
    ///   - appID: The name of the app in the keyring and of its folder: see ``FileTokenStore/init(appID:encryptionKeys:)``.
    ///   - call: Whether the user may be prompted, and whether a session is expected.
    /// - Throws: ``AuthError`` with ``AuthError/Code/store`` if the file cannot be read, or if there is no home folder, and
    ///   with ``AuthError/Code/invalidConfiguration`` for an ID that cannot be the name of a folder; `CancellationError`.
    public func keyringOrFile(
        appID: String, call: TokenStoreCall = TokenStoreCall()
    ) async throws -> TokenStoreChoice {
        try await keyringStore(application: appID).orElse(FileTokenStore(appID: appID), call: call)
    }

    /// Returns the client, after checking that the provider has every endpoint that the flow needs.
    func client(requiring endpoints: [ProviderMetadata.Endpoint]) async throws -> Client {
        try await configuration.client(requiring: endpoints + (configuration.requestsIDToken ? [.keys] : []))
    }
}
