internal import AppAuth
internal import AppAuthConcurrency
public import AppAuthSession
internal import JOSE

/// A store that keeps a session in a row of a PostgreSQL database, for processes on all machines that use the database.
///
/// A change is one conditional statement, which is safe on the server's disk when the call returns. The refresh lock is an
/// advisory lock on a connection of its own. If its holder ends, the server releases it at once. If the holder's machine or
/// network fails, or the process is stopped, the server releases it after
/// ``PostgreSQLDatabase/Options/lockTimeout``. Each grant of the lock has a number, which the row has too. So a
/// holder that has lost the lock cannot write: it waits for the lock again, and then sees what others have stored.
///
/// The article Several machines describes the table, its roles, and what is promised when a server fails.
///
/// ```swift
/// let database = try PostgreSQLDatabase("service=app")
/// let session = try await AuthState(restoring: database.store(for: "billing"), environment: .live)
/// ```
public struct PostgreSQLTokenStore: TokenStore {
    /// The database.
    public let database: PostgreSQLDatabase
    /// The key of the row.
    public let key: String

    /// `postgresql:`, the host and the database if the connection string names them, the table and the key.
    public var location: String { "\(database.place)/\(key)" }

    /// Reads the session.
    public func load(_ call: TokenStoreCall) async throws -> AuthStateRecord? {
        try await describingErrors(location) { try await row.load(until: database.deadline) }
    }

    /// Changes the session. `change` may be called again if another process changes the session at the same time.
    public func update<Result: Sendable>(
        _ call: TokenStoreCall, _ change: @escaping @Sendable (inout AuthStateRecord?) throws -> Result
    ) async throws -> Result {
        let lock = lock(of: call)
        return try await describingErrors(location) {
            try await row.update(under: lock, until: database.deadline, change)
        }
    }

    /// Reads the session, and checks that no other holder has had the refresh lock since. The lock's number was written to the
    /// row, so the database can be written.
    public func prepareForRefresh(_ call: TokenStoreCall) async throws -> AuthStateRecord? {
        let lock = lock(of: call)
        return try await describingErrors(location) { try await row.load(confirming: lock, until: database.deadline) }
    }

    private func lock(of call: TokenStoreCall) -> HeldLock? {
        (call.grant as? HeldLock).flatMap { $0.isLock(of: key, in: database) ? $0 : nil }
    }

    /// Reads the session, and checks that this role may write it.
    public func prepare() async throws {
        _ = try await load()
        try await describingErrors(location) {
            let deadline = database.deadline
            let rows = try await database.withTurn(until: deadline) {
                try await database.reach(until: deadline, repeats: true) { connection, table in
                    try await connection.query(
                        SessionTable.mayWrite, [.text(table.identifier)], until: deadline)
                }
            }
            guard rows.first?.first == [1] else {
                throw DatabaseError(
                    state: "42501", message: "the role needs SELECT, INSERT and UPDATE on \(database.table.text)")
            }
        }
    }

    /// Waits for the refresh lock, which another task, process or machine may hold. At most one connection of this process
    /// waits for each session.
    public func refreshLock(_ call: TokenStoreCall) async throws -> RefreshLock {
        let turn = try await RefreshQueues.queue(for: database.identity + [key]).turn()
        let held = HeldLock(database, key: key, location: location)
        let lock = RefreshLock(grant: held, isHeld: { held.isHeld }) {
            held.release()
            turn.end()
        }
        try await describingErrors(location) { try await held.acquire(until: nil) }
        return lock
    }

    /// Returns the process that refreshes the session, as `'my-app[4711]@web-1'`, or nil if there is none. A connection
    /// string with an `application_name` changes that name. It is in quotes, since any role of the database can acquire the
    /// lock, with a name of its choice.
    public func refreshLockHolder() async -> String? {
        let deadline = database.deadline
        let rows = try? await database.withTurn(until: deadline) {
            try await database.reach(until: deadline, repeats: true) { connection, table in
                try await connection.query(
                    SessionTable.holder, [.integer(table.advisoryLock(key))], until: deadline)
            }
        }
        return rows?.first.map { row in row.first??.text.foundText ?? "another process" }
    }

    /// Reports that the session may have changed in the store: on any machine, also by this process. The server sends
    /// the reports (LISTEN and NOTIFY), nothing is polled. After a lost connection, a report comes in any case, since
    /// some may be missing.
    ///
    /// Pass them on to the session, whose ``AuthState/changes`` then reports new tokens and the end of the session:
    ///
    /// ```swift
    /// for await _ in store.changes { try? await session.synchronize() }
    /// ```
    public var changes: AsyncStream<Void> { database.listener.changes(of: key, in: database) }

    private var row: SessionRowAccess { SessionRowAccess(database: database, key: key, location: location) }
}
