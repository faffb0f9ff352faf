internal import AppAuthConcurrency
internal import AppAuthProtocol

/// A store for one session, for all the processes that share it.
///
/// A store has three duties: to read the session, to change it in one step, and to provide a lock. Its errors are
/// ``AuthError`` with ``AuthError/Code/store`` that name the location and the reason. The test suite for stores in
/// `AppAuthTestSupport` checks all the requirements below.
public protocol TokenStore: Sendable {
    /// The location, for messages: `file:/home/jane/.local/state/app/session.json`.
    var location: String { get }

    /// Reads the session; nil if there is none.
    ///
    /// It must take no lock, so that it works where nothing can be written. It sees the session before a change or after
    /// it, never in between. It throws if there is something else at the location, or a damaged record. It must return
    /// within milliseconds, unless it prompts the user, which it may do only if ``TokenStoreCall/isUnattended`` is false:
    /// it is also called while a caller waits for the lock.
    func load(_ call: TokenStoreCall) async throws -> AuthStateRecord?

    /// Reads the session, lets `change` alter it, and writes it, in one step: no other change comes between.
    ///
    /// If `change` sets the session to nil, it is removed. If `change` alters nothing or throws, nothing is written.
    /// When this returns, the change is safe: after a crash or a power failure the store has this session or a later
    /// one. When this throws, the store has the old session, or the new one if the store could not make sure that it is
    /// safe: ``AuthState`` can handle both. This takes milliseconds; `change` does no I/O. Data that is not a session
    /// is neither read as one nor overwritten.
    func update<Result: Sendable>(
        _ call: TokenStoreCall, _ change: @escaping @Sendable (inout AuthStateRecord?) throws -> Result
    ) async throws -> Result

    /// Checks, before a user signs in, whether a session could be stored. Changes nothing.
    ///
    /// - Throws: What ``update(_:_:)`` would throw, as far as that can be known: the location cannot be read, holds
    ///   something else, or has no room. The default implementation only reads.
    func prepare() async throws

    /// Reads the session, and makes sure that new tokens can be stored, before the refresh token is sent: its successor
    /// would be lost otherwise. The caller has the refresh lock.
    ///
    /// A store that can run out of room reserves it, for a session that is a little larger. If a process has died in a
    /// change, the store first completes it. Otherwise, the session stays as it is. The default implementation only reads.
    ///
    /// - Throws: What ``update(_:_:)`` would throw, as far as that can be known. Nothing is sent then.
    func prepareForRefresh(_ call: TokenStoreCall) async throws -> AuthStateRecord?

    /// Waits for the lock under which a refresh token is sent. The store sets no limit for the wait: the caller cancels it.
    ///
    /// The lock has one holder at a time among all that share the session, in this process and in others. If a process
    /// dies, its lock is released. ``load(_:)`` and ``update(_:_:)`` work even while the lock is held. The wait blocks no
    /// thread of the cooperative pool. If its task is cancelled, it ends with `CancellationError`.
    func refreshLock(_ call: TokenStoreCall) async throws -> RefreshLock

    /// Returns a description of the holder of the refresh lock, for messages, for example `process 4711 (my-app)`; nil
    /// if the lock is free, or if the store cannot tell, which is the default.
    func refreshLockHolder() async -> String?
}

extension TokenStore {
    /// Reads the session.
    public func prepare() async throws { _ = try await load() }

    /// Reads the session.
    public func prepareForRefresh(_ call: TokenStoreCall) async throws -> AuthStateRecord? { try await load(call) }

    /// Returns nil: the store cannot tell.
    public func refreshLockHolder() async -> String? { nil }

    /// Reads the session, as a call of which nothing is known.
    public func load() async throws -> AuthStateRecord? { try await load(TokenStoreCall()) }

    /// Changes the session, as a call of which nothing is known.
    public func update<Result: Sendable>(
        _ change: @escaping @Sendable (inout AuthStateRecord?) throws -> Result
    ) async throws -> Result { try await update(TokenStoreCall(), change) }

    /// Waits for the refresh lock, as a call of which nothing is known.
    public func refreshLock() async throws -> RefreshLock { try await refreshLock(TokenStoreCall()) }
}

/// What a store can know about the call that it serves.
public struct TokenStoreCall: Sendable {
    /// Whether the call must not prompt the user, for example to unlock a keyring. It is true for calls without a waiting
    /// caller and for calls that repeat: retries of a rejected write, reads while another process holds the refresh lock,
    /// and ``AuthState/synchronize()``.
    public var isUnattended: Bool

    /// Whether the caller knows that a session was stored here. A sign-out removes the session, but not the location. So if
    /// this is true and the location itself is missing (a disk that is not mounted, a keyring that is not open), the store
    /// throws ``StoreProblem/unavailable`` and creates nothing. If this is false, a missing location is a new one.
    public var expectsSession: Bool

    /// The ``RefreshLock/grant`` of the refresh lock under which the call is made; nil for a call that needs no lock, such as a
    /// sign-in or a sign-out. If the store's lock can be lost, for example with a connection, and another holder has had it
    /// since, ``TokenStore/update(_:_:)`` acquires it again before it reads the session.
    public var grant: (any Sendable)?

    /// Creates a description of a call.
    public init(isUnattended: Bool = false, expectsSession: Bool = false, grant: (any Sendable)? = nil) {
        (self.isUnattended, self.expectsSession, self.grant) = (isUnattended, expectsSession, grant)
    }
}

/// The right to send the refresh token of a stored session, held until it is released or deinitialized.
public final class RefreshLock: Sendable {
    /// What the store needs to recognise this grant of the lock in ``TokenStoreCall/grant``: for example a number
    /// that grows with each grant. If the lock can be lost, the store compares it with the latest grant when it writes.
    /// Then a holder that was stopped, and wakes up after the lock has passed on, does not overwrite newer tokens.
    public let grant: (any Sendable)?
    private let holds: @Sendable () -> Bool
    private let end: LockedValue<(@Sendable () -> Void)?>

    /// Creates a lock that was just acquired.
    ///
    /// - Parameters:
    ///   - grant: See ``grant``.
    ///   - isHeld: Whether the lock is still held, as far as this process can know at once. A lock of the kernel cannot be
    ///     lost, so it always is.
    ///   - release: Releases the lock; called once.
    public init(
        grant: (any Sendable)? = nil, isHeld: @escaping @Sendable () -> Bool = { true },
        release: @escaping @Sendable () -> Void
    ) {
        (self.grant, holds, end) = (grant, isHeld, LockedValue(release))
    }

    /// Whether the lock is still held, as far as this process can know at once. If it is not, no refresh token is sent.
    package var isHeld: Bool { holds() }

    /// Releases the lock. Further calls have no effect.
    public func release() {
        let end = end.withLock { end in
            defer { end = nil }
            return end
        }
        end?()
    }

    deinit { release() }
}

extension TokenStore {
    /// Runs an operation of an app's store and converts its errors into ``AuthError``.
    package func convertingErrors<Value: Sendable>(
        _ operation: @Sendable () async throws -> Value
    ) async throws -> Value {
        do { return try await operation() } catch let error as AuthError { throw error } catch let error
            as CancellationError
        { throw error } catch {
            throw AuthError(
                .store, .store, "\(location) failed: \(AuthError.summary(of: error))", outcome: .notSent,
                isTemporary: true)
        }
    }

    /// Replaces any stored session with a new one, and returns the replaced one. It takes no refresh lock, because the user
    /// must not wait for its holder: a refresh of the replaced session finds the new one when it stores its result.
    @discardableResult
    package func replace(
        with record: AuthStateRecord, if replaceable: Replaceable? = nil
    ) async throws -> AuthStateRecord? {
        try await convertingErrors {
            try await update { stored in
                try replaceable?.check(stored, for: record)
                defer { stored = record }
                return stored
            }
        }
    }
}
