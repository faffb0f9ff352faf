/// Where one session is kept. Three methods, each of which does its work completely or not at all.
///
/// A store is called by one ``AuthState`` at a time, in order. Its errors are ``AuthError`` with
/// ``AuthError/Code/store`` that name the place and the reason.
public protocol TokenStore: Sendable {
    /// The place, for messages: `file:/home/jane/.local/state/app/session.json`.
    var place: String { get }

    /// Reads the session; nil if there is none. Something else at the place, or a damaged record, is an error.
    func load() async throws -> AuthStateRecord?

    /// Writes the session. When this returns, it is safe: a crash or a power cut brings back this record or a later one.
    /// Something else at the place is never overwritten.
    func save(_ record: AuthStateRecord) async throws

    /// Removes the session. No session is no error.
    func delete() async throws
}

extension TokenStore {
    /// Whatever a store of an app throws becomes an ``AuthError``.
    package func attempt<Value: Sendable>(_ operation: @Sendable () async throws -> Value) async throws -> Value {
        do { return try await operation() } catch let error as AuthError { throw error } catch let error
            as CancellationError
        { throw error } catch {
            throw AuthError(.store, .store, "\(place) failed: \(type(of: error))", outcome: .notSent, isTemporary: true)
        }
    }
}

/// Keeps a session for as long as the process lives.
public actor MemoryTokenStore: TokenStore {
    private var record: AuthStateRecord?

    /// Always `memory`.
    public nonisolated var place: String { "memory" }

    /// Makes a store, with a session in it or empty.
    public init(_ record: AuthStateRecord? = nil) { self.record = record }

    /// Reads the session.
    public func load() -> AuthStateRecord? { record }
    /// Keeps the session.
    public func save(_ record: AuthStateRecord) { self.record = record }
    /// Forgets the session.
    public func delete() { record = nil }
}
