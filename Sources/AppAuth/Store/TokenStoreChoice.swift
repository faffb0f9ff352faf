public import AppAuthProtocol
public import AppAuthSession

/// The result of choosing between two stores. See ``SignInFlow/keyringOrFile(appID:call:)`` and ``KeyringTokenStore/orElse(_:call:)``.
public struct TokenStoreChoice: Sendable, CustomStringConvertible {
    /// The chosen store. It never changes by itself.
    public let store: any TokenStore
    /// Whether the chosen store is the keyring.
    public let isKeyring: Bool
    /// The reason why the keyring was not chosen, or nil if it was or if only the other store has a session.
    public let refusal: AuthError?

    /// Where the session is kept, for the user, in a few words: "the keyring", or a location and why it is not the keyring.
    public var description: String {
        guard !isKeyring else { return "the keyring" }
        let place = (store as? FileTokenStore)?.path ?? store.location
        return place + (refusal.map { ", since \($0.reasonAgainstKeyring)" } ?? "")
    }
}

extension AuthError {
    fileprivate var reasonAgainstKeyring: String {
        switch storeProblem {
        case .noLibrary?: "libsecret is not installed"
        case .noBus?: "there is no session bus"
        case .noService?: "there is no keyring"
        case .locked?, .dismissed?: "the keyring is locked"
        case .unanswered?: "the keyring does not respond"
        case .denied?: "this program may not use the keyring"
        default: "the keyring cannot be used"
        }
    }
}

extension KeyringTokenStore {
    /// Chooses the keyring if it can be used now, or else another store.
    ///
    /// The choice is made here, once, by a trial. Later failures are errors and never change the store. If the keyring is
    /// locked or does not exist yet, the trial prompts the user, unless ``mayPrompt`` is false or the call is unattended
    /// (``TokenStoreCall/isUnattended``).
    ///
    /// If only the other store is known to have a session, that store is chosen, without a prompt, until the user signs out. If
    /// the keyring cannot be used at the moment, a session
    /// in it is not visible in the other store, so an app for both desktop and cron jobs should name one store.
    ///
    /// ```swift
    /// let choice = try await signIn.keyringStore(application: "org.example.MyApp").orElse(FileTokenStore(path: path))
    /// log("The session is kept in \(choice).")
    /// ```
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/store`` if the other store cannot be read; `CancellationError`.
    public func orElse(
        _ other: some TokenStore, call: TokenStoreCall = TokenStoreCall()
    ) async throws -> TokenStoreChoice {
        // A user who has declined the keyring is not asked at each start: the list needs no prompt.
        let isListed: Bool
        do { isListed = try await self.isListed } catch let error as AuthError where error.storeProblem == .locked {
            // A locked keyring hides its entries. The trial asks the user to unlock it.
            isListed = false
        } catch let error as AuthError {
            return TokenStoreChoice(store: other, isKeyring: false, refusal: error)
        }
        if !isListed, try await other.load(call) != nil {
            return TokenStoreChoice(store: other, isKeyring: false, refusal: nil)
        }
        do { try await probe(call) } catch let error as AuthError {
            return TokenStoreChoice(store: other, isKeyring: false, refusal: error)
        }
        return TokenStoreChoice(store: self, isKeyring: true, refusal: nil)
    }
}
