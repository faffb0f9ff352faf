internal import AppAuth
internal import AppAuthConcurrency
internal import AppAuthProtocol
internal import CShims
internal import Glibc

/// Opens connections to one server.
final class Connector: Sendable {
    private let string: ConnectionString
    private let libraryName: String
    /// The database, for messages.
    private let location: String
    private let limits: StatementLimits
    private struct Parts: Sendable {
        let library: ClientLibrary
        let secrets: [String]
        let poll: DescriptorPoll
    }
    private let parts = LockedValue<Parts?>(nil)
    /// Whether a connection is known to keep its session.
    private let keepsSessions = LockedValue(false)

    init(_ string: ConnectionString, library: String, location: String, limits: StatementLimits) {
        (self.string, libraryName, self.location, self.limits) = (string, library, location, limits)
    }

    /// Opens a connection, on a thread of its own: libpq blocks it to look up the server's address and to read files. A
    /// caller that is cancelled, or whose time is over, leaves the thread, which ends by itself.
    ///
    /// - Parameters:
    ///   - name: The table that the connection is for.
    ///   - settings: Settings of the server for this connection.
    /// - Returns: The connection, and what it has found under the name.
    func connect(
        for name: TableName, _ settings: [(name: String, value: String)], until deadline: ContinuousClock.Instant
    ) async throws -> (Connection, FoundTable) {
        let connection = try await opened(until: deadline)
        try await checkSession(of: connection, until: deadline)
        // A SET reads no catalog, on which another role can hold a lock.
        try await connection.script(limits.statements(), until: deadline)
        let found = try await FoundTable(
            in: name.schema, name.table, on: connection, setting: settings, until: deadline)
        return (connection, found)
    }

    private func opened(until deadline: ContinuousClock.Instant) async throws -> Connection {
        let expiry = AuthError.database(
            location, nil, "cannot be reached: there was no connection in time", isTemporary: true)
        return try await reply(within: (deadline - .now, expiry)) { reply in
            try SystemThread(named: "appauth-pq-open", for: .store, of: location) {
                reply.give(Result { try self.open() })
            }.detach()
        }
    }

    /// Throws if a pool gives the sessions of the server to each transaction anew (pgbouncer, `pool_mode = transaction`): a lock
    /// and settings would then belong to whichever connection comes next.
    ///
    /// A pool makes up the numbers that its connections get. If two of them have the same session of the server, or one has
    /// two, the pool shares them. The second one is in a transaction meanwhile, so the first one's session is not free.
    private func checkSession(of connection: Connection, until deadline: ContinuousClock.Instant) async throws {
        guard !keepsSessions.withLock({ $0 }) else { return }
        let session = limits.statements(local: true) + "; SELECT pg_catalog.pg_backend_pid()"
        let first = try await connection.script(session, until: deadline)
        if try (first.first?.first?.flatMap { Int64($0.text) }) != connection.sessionNumber {
            let other = try await opened(until: deadline)
            defer { other.close() }
            var isShared = true
            do {
                _ = try await other.query("BEGIN", until: deadline)
                isShared = try await other.script(session, until: deadline) == first
                if !isShared { isShared = try await connection.script(session, until: deadline) != first }
            } catch let error as DatabaseError where error.message.contains("statement pooling") {
                // `pool_mode = statement` allows no transaction.
            }
            guard !isShared else { throw sharedSessions }
        }
        keepsSessions.withLock { $0 = true }
    }

    private var sharedSessions: AuthError {
        AuthError(
            .invalidConfiguration, .store,
            "\(location) is reached through a pool that shares the server’s sessions between connections (pgbouncer with "
                + "pool_mode = transaction or statement), which would lose the refresh lock. Connect to the server itself, or "
                + "to a pool with pool_mode = session")
    }

    private func open() throws -> Connection {
        let parts = try loaded()
        let pq = parts.library.functions
        // The connection string overrides what precedes it.
        var options = [
            // A standby may lack the latest tokens. With several hosts, libpq looks for the primary.
            ("target_session_attrs", "read-write"),
            ("connect_timeout", "5"),
            // The kernel notices within 25 s that the server's machine is gone, and within 20 s that it does not
            // acknowledge what was sent.
            ("keepalives_idle", "10"), ("keepalives_interval", "5"), ("keepalives_count", "3"),
            ("tcp_user_timeout", "20000"),
            ("fallback_application_name", Self.ownName),
        ]
        if !string.text.isEmpty { options.append(("dbname", string.text)) }
        options.append(("client_encoding", "UTF8"))
        let names = options.map { strdup($0.0) } + [nil]
        let values = options.map { strdup($0.1) } + [nil]
        defer { for copy in names + values { free(copy) } }
        guard
            let handle = pq.PQconnectdbParams(
                names.map { $0.map { UnsafePointer($0) } }, values.map { $0.map { UnsafePointer($0) } }, 1)
        else { throw DatabaseError(message: "libpq is out of memory") }
        guard Int(pq.PQstatus(handle)) == SHIMS_PQ_CONNECTION_OK else {
            defer { pq.PQfinish(handle) }
            let message = pq.message(of: handle).redacted(parts.secrets)
            // Without a password, or with a wrong one, further attempts are useless.
            guard pq.PQconnectionNeedsPassword(handle) == 0 else {
                throw DatabaseError(state: "28P01", message: message)
            }
            if pq.PQconnectionUsedPassword(handle) != 0, Self.isDenied(names, values, pq) {
                throw DatabaseError(state: "28P01", message: message)
            }
            throw DatabaseError.lost(message)
        }
        guard pq.PQserverVersion(handle) >= 140_000 else {
            defer { pq.PQfinish(handle) }
            throw DatabaseError(
                state: "0A000", message: "expected PostgreSQL 14 or newer, found \(pq.PQserverVersion(handle) / 10_000)"
            )
        }
        return Connection(owning: handle, parts.library, parts.poll, secrets: parts.secrets)
    }

    /// Connects once more, and returns whether the server then denies access (SQLSTATE class 28). libpq has the SQLSTATE of a
    /// connection that fails only in a verbose message, whose words depend on the server's language.
    private static func isDenied(
        _ names: [UnsafeMutablePointer<CChar>?], _ values: [UnsafeMutablePointer<CChar>?], _ pq: shims_pq
    ) -> Bool {
        let handle = pq.PQconnectStartParams(
            names.map { $0.map { UnsafePointer($0) } }, values.map { $0.map { UnsafePointer($0) } }, 1)
        guard let handle else { return false }
        defer { pq.PQfinish(handle) }
        _ = pq.PQsetErrorVerbosity(handle, Int32(SHIMS_PQ_ERRORS_VERBOSE))
        var step = SHIMS_PQ_POLLING_WRITING
        while step == SHIMS_PQ_POLLING_READING || step == SHIMS_PQ_POLLING_WRITING {
            let events = step == SHIMS_PQ_POLLING_READING ? POLLIN : POLLOUT
            var polled = pollfd(fd: pq.PQsocket(handle), events: Int16(events), revents: 0)
            guard poll(&polled, 1, 5000) > 0 else { return false }
            step = Int(pq.PQconnectPoll(handle))
        }
        // pgbouncer has the class of a violated protocol, and English words.
        let message = pq.message(of: handle)
        return [" 28P01: ", " 28000: ", "08P01: password authentication failed", "08P01: SASL authentication failed"]
            .contains(where: message.contains)
    }

    private func loaded() throws -> Parts {
        try parts.withLock { parts in
            if let parts { return parts }
            let library = try ClientLibrary(libraryName, for: location)
            let secrets = try string.secrets(library, location)
            let new = Parts(library: library, secrets: secrets, poll: try DescriptorPoll())
            parts = new
            return new
        }
    }

    /// The name of this process for operators (`pg_stat_activity`), and for the description of a lock's holder:
    /// `my-app[4711]@web-1`.
    private static var ownName: String {
        var host = [CChar](repeating: 0, count: 65)
        gethostname(&host, 64)
        let name = (try? InputFile.read("/proc/self/comm", atMost: 64)).map { String(decoding: $0, as: UTF8.self) }
        let end = host.firstIndex(of: 0) ?? host.endIndex
        let hostName = String(decoding: host[..<end].map(UInt8.init(bitPattern:)), as: UTF8.self)
        return "\(name?.split(separator: "\n").first ?? "process")[\(getpid())]@\(hostName)"
    }
}

/// The pauses between attempts to reach a server: none before the second attempt, then 0.1, 0.2 … 2 s, with jitter.
struct Backoff {
    private var attempts = 0

    /// Waits for the next attempt.
    ///
    /// - Returns: Whether there is time for it.
    mutating func pause(until deadline: ContinuousClock.Instant?) async throws -> Bool {
        defer { attempts += 1 }
        let longest = attempts == 0 ? 0 : min(2, 0.05 * Double(1 << min(attempts, 8)))
        let pause = Duration.seconds(longest * Double.random(in: 0.5...1))
        if let deadline, .now + pause >= deadline { return false }
        try await Task.sleep(for: pause)
        return true
    }
}
