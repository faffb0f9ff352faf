public import AppAuthProtocol
public import AppAuthSession

/// Which of two stores was taken: see ``KeyringTokenStore/orElse(_:)``.
public struct TokenStoreChoice: Sendable {
    /// The store that was taken, for good: it never changes by itself.
    public let store: any TokenStore
    /// Whether it is the keyring.
    public let isKeyring: Bool
    /// Why the keyring was not taken; nil if it was, or if only the other store has a session.
    public let refusal: AuthError?
}

extension KeyringTokenStore {
    /// The keyring if it can be used now, else another store. Decided here, once, by a trial; whatever fails afterwards is
    /// an error, and never a reason to go elsewhere.
    ///
    /// A session that is in the other store stays where it is, if the keyring has none:
    /// ``TokenStore/moveSession(to:)`` brings it over. A session in a keyring that cannot be used at the moment is not
    /// looked for elsewhere: an app that runs on a desktop and in a cron job should name one store.
    ///
    /// ```swift
    /// let choice = try await KeyringTokenStore(application: "My App", issuer: issuer, clientID: "my-app")
    ///     .orElse(FileTokenStore(path: path))
    /// if let refusal = choice.refusal { log("The session is kept in \(choice.store.location): \(refusal.message)") }
    /// ```
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/store`` if the other store cannot be read; `CancellationError`.
    public func orElse(_ other: some TokenStore) async throws -> TokenStoreChoice {
        let isThere: Bool
        do { isThere = try await probe() } catch let error as AuthError {
            return TokenStoreChoice(store: other, isKeyring: false, refusal: error)
        }
        if !isThere, try await other.load() != nil {
            return TokenStoreChoice(store: other, isKeyring: false, refusal: nil)
        }
        return TokenStoreChoice(store: self, isKeyring: true, refusal: nil)
    }
}
