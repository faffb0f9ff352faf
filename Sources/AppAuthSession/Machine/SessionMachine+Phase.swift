internal import AppAuthProtocol

extension SessionMachine {
    /// An operation that a caller has begun.
    struct Operation {
        let id: ID
        var purpose: Purpose
        var phase: Phase
        /// How much longer the operation waits for the lock. Only the pauses count.
        var timeLeft: Duration
        /// Whether the operation, which waits for the lock, is reading the store after a pause. Such a read never prompts
        /// the user.
        var isReadingWhileWaiting = false
        /// Whether the response may have a new refresh token that the store does not have yet. An error counts, since it
        /// may come with one.
        var mayLoseRefreshToken = false

        /// Whether a refresh token may be at the provider while its successor is not stored.
        var isExposed: Bool {
            switch phase {
            case .marking, .sending: true
            case .storingRefreshToken, .verifying, .storing: mayLoseRefreshToken
            case .reading, .queued, .awaitingSave, .locking, .working: false
            }
        }
    }

    /// A phase of an operation. Those of a refresh follow one another in this order, but few refreshes pass through all:
    ///
    /// | Phase | Entered | Waits for | If that succeeds | If it fails |
    /// |---|---|---|---|---|
    /// | `reading` | if a caller needs a token | load, or first save | `queued`, or the end | the end |
    /// | `queued` | | earlier operations; every 2 s, load | `awaitingSave` | goes on |
    /// | `awaitingSave` | | save, if anything is unsaved | `locking` | the end |
    /// | `locking` | | the lock; every 2 s, load | `marking` | the end; a failed load: goes on |
    /// | `marking` | with the lock, as all that follow | update | `sending`, or the end | the end |
    /// | `sending` | | the response | the first of the next three that applies | `storing` |
    /// | `storingRefreshToken` | with an ID token to verify and a new refresh token | update | `verifying`, or the end | `verifying` |
    /// | `verifying` | with an ID token, if the session has one | the verification | `storing` | `storing` |
    /// | `storing` | | update | the end, or `marking` | see `rejected` |
    ///
    /// A change of the registration begins in `queued`; after `locking` it is `working` and `storing`. A sign-out and a save
    /// begin in `awaitingSave` and end after it.
    enum Phase {
        /// Reads the store, without the lock.
        case reading
        /// Waits for earlier operations of this process.
        case queued
        /// Waits until the unsaved change is stored, since that change has the lock.
        case awaitingSave
        /// Waits for the store's lock.
        case locking
        /// Records in the store that the refresh token is about to be sent.
        case marking
        case sending(SessionRules.Attempt)
        /// Stores the rotated refresh token. The ID token is not verified yet, and no token is handed out before that.
        case storingRefreshToken(SessionRules.Attempt, TokenResponse)
        case verifying(SessionRules.Attempt, TokenResponse)
        /// Stores the result. `inMemory` is the decision about the session in memory, once the store has rejected the
        /// result.
        case storing(inMemory: SessionRules.Decision? = nil)
        /// The caller works under the lock.
        case working

        /// Whether the operation waits for the lock.
        var isWaiting: Bool {
            switch self {
            case .queued, .awaitingSave, .locking: true
            default: false
            }
        }
    }

    /// A requested store call.
    struct Call {
        enum Work {
            case load
            case update(SessionRules.Event, at: Timestamp?)
            /// Stores the change that is unsaved when the call is made.
            case save
        }

        /// Nil for ``Work/save``, which several operations may wait for.
        let operation: ID?
        let work: Work
        var isUnattended = false
        /// What this process knew when the call was made.
        var knownAtCall: SessionRules.Knowledge?
        /// The change that ``Work/save`` stores.
        var unsaved: Unsaved?

        var isSave: Bool { if case .save = work { true } else { false } }
    }
}
