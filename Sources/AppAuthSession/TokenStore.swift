package import AppAuthProtocol

/// Where one session is kept, for all the processes that share it.
///
/// A store has three duties: to read, to change what is there in one step, and to lend a lock. Its errors are
/// ``AuthError`` with ``AuthError/Code/store`` that name the place and the reason. The test suite for stores in
/// `AppAuthTestSupport` checks all that is said here.
public protocol TokenStore: Sendable {
    /// The place, for messages: `file:/home/jane/.local/state/app/session.json`.
    var location: String { get }

    /// Reads the session; nil if there is none. Takes no lock, so that it works where nothing can be written, and sees
    /// the session before a change or after it, never in between. Something else at the place, or a damaged record, is
    /// an error. Takes milliseconds, and not for ever: it is called while the lock is waited for, too.
    func load() async throws -> AuthStateRecord?

    /// Reads the session, lets `change` alter it, and writes it, in one step: no other change by anybody comes between.
    ///
    /// Nil in place of the session removes it. Where `change` alters nothing or throws, nothing is written. When this
    /// returns, the change is safe: a crash or a power cut brings back this session or a later one. When it throws, the
    /// old session stands, or the new one where the store could not make sure that it is safe: ``AuthState`` bears with
    /// both. Takes milliseconds; `change` does no I/O. What is no session is neither read as one nor overwritten.
    func update<Result: Sendable>(
        _ change: @escaping @Sendable (inout AuthStateRecord?) throws -> Result
    ) async throws -> Result

    /// Finds out, before a user signs in, whether a session could be stored, and leaves everything as it is.
    ///
    /// - Throws: What ``update(_:)`` would throw, as far as that can be known: the place cannot be read, or holds something else,
    ///   or has no room. The default reads.
    func prepare() async throws

    /// Waits for the lock under which a refresh token is presented, for as long as the refresh of another takes.
    ///
    /// One holder at a time among all who share the session, in this process and in others; whoever dies lets go of it.
    /// ``load()`` and ``update(_:)`` work whoever holds it. The wait blocks no thread of the cooperative pool, and ends
    /// with `CancellationError` when its task is cancelled.
    func refreshLock() async throws -> RefreshLock

    /// Describes who holds the refresh lock, for messages, for example `process 4711 (my-app)`; nil if nobody holds it, or if
    /// the store cannot tell, which is the default.
    func refreshLockHolder() async -> String?
}

extension TokenStore {
    /// The store cannot tell.
    public func refreshLockHolder() async -> String? { nil }
}

/// What a store can know of the call that it serves.
public enum TokenStoreCall {
    /// Whether nobody waits for it: ``AuthState`` tries by itself to store what the store has refused before. A store that
    /// could ask the person something, to unlock a keyring for example, asks nothing then: it would be asked every minute.
    @TaskLocal public static var isUnattended = false

    /// Whether the caller knows that a session was stored here. A sign-out then leaves a place without a session. If the place
    /// itself is missing, because its disk is not mounted or its keyring is not open, the store throws
    /// ``StoreProblem/unavailable`` and creates nothing. Otherwise such a place is a new one.
    @TaskLocal public static var expectsSession = false
}

/// The right to present the refresh token of a stored session, held until it is released or nobody has it any more.
public final class RefreshLock: Sendable {
    private let flag = Once()
    private let end: @Sendable () -> Void

    /// Makes a lock that was just taken.
    ///
    /// - Parameter release: Lets go of it; called once.
    public init(release: @escaping @Sendable () -> Void) { end = release }

    /// Lets the next one have it. More than once is no error.
    public func release() { if flag.first() { end() } }

    deinit { release() }
}

extension AuthError {
    /// A store has something that is no session.
    package static func damagedStore(_ location: String, _ why: String) -> AuthError {
        var error = AuthError(.store, .store, "\(location) \(why); it is left as it is", outcome: .notSent)
        error.storeProblem = .damaged
        return error
    }
}

extension TokenStore {
    /// Reads the session.
    public func prepare() async throws { _ = try await load() }

    /// Whatever a store of an app throws becomes an ``AuthError``.
    ///
    /// - Parameter expectsSession: See ``TokenStoreCall/expectsSession``.
    package func attempt<Value: Sendable>(
        expectsSession: Bool = false, _ operation: @Sendable () async throws -> Value
    ) async throws -> Value {
        let expectsSession = expectsSession || TokenStoreCall.expectsSession
        do {
            return try await TokenStoreCall.$expectsSession.withValue(expectsSession) { try await operation() }
        } catch let error as AuthError { throw error } catch let error
            as CancellationError
        { throw error } catch {
            throw AuthError(
                .store, .store, "\(location) failed: \(type(of: error))", outcome: .notSent, isTemporary: true)
        }
    }

    /// Puts a new session in place of whatever session is there.
    package func replace(with record: AuthStateRecord) async throws {
        try await attempt { try await update { $0 = record } }
    }
}
