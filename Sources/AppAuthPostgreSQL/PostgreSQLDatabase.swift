internal import AppAuthConcurrency
internal import AppAuthProtocol
internal import AppAuthSession
internal import JOSE
public import Logging

/// A table of sessions in a PostgreSQL database (14 or newer), for services on several machines.
///
/// The server is accessed with libpq, which is loaded on first use. The connection string is a URI or a list of keywords,
/// as in PostgreSQL's own programs, and libpq's environment variables, service files and password files apply. An empty
/// one leaves all to them.
///
/// All stores of one database share a connection. A store uses another one while it holds the refresh lock or waits for
/// it, and so does ``PostgreSQLTokenStore/changes``. They need a server that keeps a session for a connection: not
/// pgbouncer with `pool_mode = transaction`.
///
/// ```swift
/// let database = try PostgreSQLDatabase("postgresql://app@db1,db2/app?sslmode=verify-full")
/// try await database.createTable()
/// let store = database.store(for: "billing service")
/// ```
public final class PostgreSQLDatabase: Sendable {
    /// Limits and choices.
    public struct Options: Sendable {
        /// How long a call tries to reach the server.
        public var callTimeout = Duration.seconds(10)
        /// How long the server keeps the refresh lock for a holder that it does not hear from: one that is stopped, or
        /// whose network or machine has failed. A holder reports four times in this period. A value below the limit of a
        /// token request (30 s) risks that two machines send one refresh token.
        public var lockTimeout = Duration.seconds(60)
        /// The largest stored session, in bytes.
        public var largestRecord = 16 << 20
        /// Whether sessions that are not encrypted are read although there are encryption keys: for the time until each
        /// session was written once with a key.
        public var readsUnencryptedSessions = false
        /// Roles that may own the table and its schema, or have the privileges `TRIGGER` and `REFERENCES` for the table, for
        /// example the role of the migrations. The store's own role, superusers and the owner of the database may, in any
        /// case. Each of them can run code as the store's role.
        public var trustedOwners: Set<String> = []
        /// What encrypted sessions are bound to, beside their key: they are not accepted from elsewhere. By default, the
        /// names of the database, the schema and the table: `app.public.appauth_session`. Before one of them is renamed,
        /// set this to the earlier names.
        public var encryptionContext: String?
        /// Gets a warning if a change could not be reported to other processes.
        public var logger = Logger.silent
        package var library = "libpq.so.5"
        /// The clock that tells a holder of the refresh lock whether the server may have given the lock to another one.
        package var now: @Sendable () -> ContinuousClock.Instant = { .now }

        /// Creates the default options.
        public init() {}
    }

    /// A connection whose settings are made, and the table that was found and checked on it.
    typealias Opened = (connection: Connection, table: SessionTable)

    let table: TableName
    let cipher: RecordCipher
    let options: Options
    let place: String
    /// What tells this table from others in this process. It may contain a password.
    let identity: [String]
    let listener: ChangeListener
    private let connector: Connector
    private let turns = TaskQueue()
    private let idle = LockedValue<Opened?>(nil)

    /// Creates the access to a table. It does not connect.
    ///
    /// - Parameters:
    ///   - connection: The connection string.
    ///   - table: The table, `name` or `schema.name`.
    ///   - encryptionKeys: The first key encrypts, and all of them decrypt. Without keys, sessions are not encrypted.
    ///   - options: Limits and choices.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` for an invalid name of a table.
    public init(
        _ connection: String, table: String = "appauth_session", encryptionKeys: [SessionEncryptionKey] = [],
        options: Options = Options()
    ) throws {
        let string = ConnectionString(text: connection)
        self.table = try TableName(table)
        self.options = options
        identity = [connection, table]
        cipher = RecordCipher(keys: encryptionKeys, readsPlaintext: options.readsUnencryptedSessions)
        place = "postgresql:" + ([string.place, table].filter { !$0.isEmpty }.joined(separator: "/"))
        connector = Connector(
            string, library: options.library, location: place,
            limits: StatementLimits(options.callTimeout))
        listener = ChangeListener()
    }

    /// Returns the store of a session.
    ///
    /// - Parameter key: The name of the session, for example of a service, a tenant or a user: up to a kilobyte of text.
    public func store(for key: String) -> PostgreSQLTokenStore { PostgreSQLTokenStore(database: self, key: key) }

    /// Creates the table if there is none. The role needs the right to create tables; ``PostgreSQLTokenStore`` needs only
    /// SELECT, INSERT and UPDATE. Apps that run their own migrations use the file `schema.sql` of this module in place of
    /// this call.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/store``, also if the table is of another version or something else, or
    ///   lets a role run code that is not to be trusted (``Options/trustedOwners``); `CancellationError`.
    public func createTable() async throws {
        try await describingErrors(place) {
            let deadline = self.deadline
            try await self.withTurn(until: deadline) {
                // The shared connection has checked the table as it was earlier.
                self.idle.withLock { $0.take() }?.connection.close()
                try await self.reach(until: deadline, repeats: true, createsTable: true) { _, _ in }
            }
        }
    }

    var deadline: ContinuousClock.Instant { .now + options.callTimeout }

    // MARK: - Connections

    /// Runs work that uses the shared connection, one at a time.
    func withTurn<Value: Sendable>(
        until deadline: ContinuousClock.Instant, _ work: @Sendable () async throws -> Value
    ) async throws -> Value {
        let turn = try await withThrowingTaskGroup(of: TaskQueue.Turn?.self) { [turns] group in
            defer { group.cancelAll() }
            group.addTask { try await turns.turn() }
            group.addTask {
                try await Task.sleep(until: deadline, clock: .continuous)
                return nil
            }
            return try await group.next() ?? nil
        }
        guard let turn else { throw DatabaseError(message: "earlier calls have not ended in time") }
        defer { turn.end() }
        return try await work()
    }

    /// Uses the shared connection, or a new one if it has ended.
    ///
    /// - Parameters:
    ///   - repeats: Whether the work is repeated if the connection ends meanwhile.
    ///   - createsTable: Whether the table is created if there is none.
    func reach<Value: Sendable>(
        until deadline: ContinuousClock.Instant, repeats: Bool, createsTable: Bool = false,
        _ work: @Sendable (Connection, SessionTable) async throws -> Value
    ) async throws -> Value {
        var backoff = Backoff()
        while true {
            var isConnected = false
            do {
                let open: Opened
                if let kept = idle.withLock({ $0.take() }) {
                    open = kept
                } else {
                    open = try await connect(createsTable, until: deadline)
                }
                isConnected = true
                do {
                    let value = try await work(open.connection, open.table)
                    idle.withLock { $0 = open }
                    return value
                } catch let error as DatabaseError where error.leavesConnection {
                    idle.withLock { $0 = open }
                    throw error
                }
            } catch let error as DatabaseError where error.endsConnection && (repeats || !isConnected) {
                guard try await backoff.pause(until: deadline) else { throw error }
            }
        }
    }

    private func connect(
        _ createsTable: Bool, until deadline: ContinuousClock.Instant
    ) async throws -> Opened {
        let timeout = String(options.callTimeout.milliseconds)
        let (connection, found) = try await connector.connect(
            for: table, [("idle_in_transaction_session_timeout", timeout)], until: deadline)
        if createsTable {
            try await create(found, on: connection, until: deadline)
        } else {
            try found.check(place, trusted: options.trustedOwners)
        }
        // A change is to be safe on disk when the call returns. Other values than "off" stay.
        _ = try await connection.query(
            """
            SELECT pg_catalog.set_config('synchronous_commit'::pg_catalog.text, 'on'::pg_catalog.text, false) \
            WHERE pg_catalog.current_setting('synchronous_commit'::pg_catalog.text) \
            OPERATOR(pg_catalog.=) 'off'::pg_catalog.text
            """, until: deadline)
        return (connection, found.table)
    }

    /// Creates the table if there is none, and checks it.
    private func create(
        _ found: FoundTable, on connection: Connection, until deadline: ContinuousClock.Instant
    ) async throws {
        var found = found
        if !found.exists {
            var failure: DatabaseError?
            do { try await connection.script(found.table.schema, until: deadline) } catch let error as DatabaseError
                where error.isDuplicate
            { failure = error }
            found = try await FoundTable(in: found.table.schemaName, table.table, on: connection, until: deadline)
            // Another process has created it meanwhile, or a type has its name.
            if let failure, !found.exists {
                throw AuthError.database(place, .damaged, "cannot be created: \(failure.message)")
            }
        }
        try found.check(place, trusted: options.trustedOwners)
        guard found.comment == SessionTable.comment else {
            throw AuthError.database(
                place, .damaged,
                "expected a table with the comment \(SessionTable.comment.foundText), found "
                    + (found.comment?.foundText ?? "none"))
        }
    }

    /// Opens a connection for a refresh lock, or for notifications. The server ends it if it does not hear from this
    /// process for ``Options/lockTimeout``.
    func connectToWait(until deadline: ContinuousClock.Instant) async throws -> Opened {
        let (connection, found) = try await connector.connect(
            for: table,
            [
                ("idle_session_timeout", String(options.lockTimeout.milliseconds)), ("tcp_keepalives_idle", "10"),
                ("tcp_keepalives_interval", "5"), ("tcp_keepalives_count", "3"),
            ], until: deadline)
        try found.check(place, trusted: options.trustedOwners)
        // The server otherwise notices only when it grants the lock that a waiting process is gone. Not every system on
        // which a server runs supports this.
        do {
            _ = try await connection.query(
                """
                SELECT pg_catalog.set_config('client_connection_check_interval'::pg_catalog.text, \
                '2000'::pg_catalog.text, false)
                """, until: deadline)
        } catch let error as DatabaseError where !error.endsConnection {}
        return (connection, found.table)
    }
}

/// Runs an operation, and converts its errors into ``AuthError``.
func describingErrors<Value: Sendable>(
    _ location: String, _ operation: @Sendable () async throws -> Value
) async throws -> Value {
    do { return try await operation() } catch let error as DatabaseError { throw error.authError(location) }
}

extension Duration {
    var milliseconds: Int64 { max(1, Int64(self / .milliseconds(1))) }
}
