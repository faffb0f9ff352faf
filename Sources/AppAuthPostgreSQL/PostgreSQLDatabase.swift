internal import AppAuthConcurrency
internal import AppAuthProtocol
internal import AppAuthSession

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
        package var library = "libpq.so.5"

        /// Creates the default options.
        public init() {}
    }

    let table: SessionTable
    let cipher: RecordCipher
    let options: Options
    let place: String
    let listener: ChangeListener
    private let connector: Connector
    private let turns = TaskQueue()
    private let idle = LockedValue<Connection?>(nil)

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
        self.table = try SessionTable(table)
        self.options = options
        cipher = RecordCipher(keys: encryptionKeys, readsPlaintext: options.readsUnencryptedSessions)
        place = "postgresql:" + ([string.place, table].filter { !$0.isEmpty }.joined(separator: "/"))
        connector = Connector(string, library: options.library, location: place)
        listener = ChangeListener(channel: self.table.channel)
    }

    /// Returns the store of a session.
    ///
    /// - Parameter key: The name of the session, for example of a service, a tenant or a user: up to a kilobyte of text.
    public func store(for key: String) -> PostgreSQLTokenStore { PostgreSQLTokenStore(database: self, key: key) }

    /// Creates the table if there is none. The role needs the right to create tables; ``PostgreSQLTokenStore`` needs only
    /// SELECT, INSERT and UPDATE. Apps that run their own migrations use the file `schema.sql` of this module in place of
    /// this call.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/store``, also if the table is of another version or something else;
    ///   `CancellationError`.
    public func createTable() async throws {
        try await describingErrors(place) {
            let deadline = self.deadline
            try await self.withTurn(until: deadline) {
                try await self.reach(until: deadline, repeats: true) { connection in
                    try await self.createTable(on: connection, until: deadline)
                }
            }
        }
    }

    private func createTable(on connection: Connection, until deadline: ContinuousClock.Instant) async throws {
        // A table and its comment as they were at the same time: another process may be creating them.
        let find = """
            SELECT description FROM pg_class
            LEFT JOIN pg_description ON classoid = 'pg_class'::regclass AND objoid = pg_class.oid AND objsubid = 0
            WHERE pg_class.oid = to_regclass($1::text)
            """
        while true {
            if let row = try await connection.query(find, [.text(table.identifier)], until: deadline).first {
                let found = row[0].map { "'\($0.text)'" }
                guard found == "'\(SessionTable.comment)'" else {
                    throw AuthError.database(
                        place, .damaged,
                        "expected a table with the comment '\(SessionTable.comment)', found \(found ?? "none")")
                }
                return
            }
            do { return try await connection.script(table.schema, until: deadline) } catch let error as DatabaseError
                where error.state == "42P07"
            {}  // another process has created it meanwhile: check what it is
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
    /// - Parameter repeats: Whether the work is repeated if the connection ends meanwhile.
    func reach<Value: Sendable>(
        until deadline: ContinuousClock.Instant, repeats: Bool,
        _ work: @Sendable (Connection) async throws -> Value
    ) async throws -> Value {
        var backoff = Backoff()
        while true {
            var isConnected = false
            do {
                let connection: Connection
                if let open = idle.withLock({ $0.take() }) {
                    connection = open
                } else {
                    connection = try await connect(until: deadline)
                }
                isConnected = true
                do {
                    let value = try await work(connection)
                    idle.withLock { $0 = connection }
                    return value
                } catch let error as DatabaseError where !error.endsConnection {
                    idle.withLock { $0 = connection }
                    throw error
                }
            } catch let error as DatabaseError where error.endsConnection && (repeats || !isConnected) {
                guard try await backoff.pause(until: deadline) else { throw error }
            }
        }
    }

    private func connect(until deadline: ContinuousClock.Instant) async throws -> Connection {
        let timeout = String(options.callTimeout.milliseconds)
        let connection = try await connector.connect(
            [("statement_timeout", timeout), ("idle_in_transaction_session_timeout", timeout)], until: deadline)
        // A change is to be safe on disk when the call returns. Other values than "off" stay.
        _ = try await connection.query(
            """
            SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'
            """, until: deadline)
        return connection
    }

    /// Opens a connection for a refresh lock, or for notifications. The server ends it if it does not hear from this
    /// process for ``Options/lockTimeout``.
    func connectToWait(until deadline: ContinuousClock.Instant) async throws -> Connection {
        let connection = try await connector.connect(
            [
                ("idle_session_timeout", String(options.lockTimeout.milliseconds)), ("statement_timeout", "0"),
                ("lock_timeout", "0"), ("tcp_keepalives_idle", "10"), ("tcp_keepalives_interval", "5"),
                ("tcp_keepalives_count", "3"),
            ], until: deadline)
        // The server otherwise notices only when it grants the lock that a waiting process is gone. Not every system on
        // which a server runs supports this.
        do {
            _ = try await connection.query(
                "SELECT set_config('client_connection_check_interval', '2000', false)", until: deadline)
        } catch let error as DatabaseError where !error.endsConnection {}
        return connection
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
