internal import AppAuth
internal import AppAuthConcurrency
internal import AppAuthProtocol
internal import AppAuthSession

/// The refresh lock of a session: an advisory lock on a connection of its own, and the number of its grant.
///
/// The server releases the lock with the connection: at once if the process ends, and after
/// ``PostgreSQLDatabase/Options/lockTimeout`` if it does not hear from the process. The number tells grants apart: a write
/// names the number, and the row has the latest one. So the write of a holder that has lost the lock, and may not know it
/// yet, has no effect.
final class HeldLock: Sendable {
    private struct State {
        /// The connection that has the lock; nil if it was lost.
        var connection: Connection?
        var number: Int64 = 0
        /// The time of the latest message to the server that it has responded to.
        var confirmed: ContinuousClock.Instant
        var keeper: Task<Void, Never>?
        var isReleased = false
    }

    private let database: PostgreSQLDatabase
    private let key: String
    private let location: String
    private let state: LockedValue<State>

    init(_ database: PostgreSQLDatabase, key: String, location: String) {
        (self.database, self.key, self.location) = (database, key, location)
        state = LockedValue(State(confirmed: database.options.now()))
    }

    func isLock(of key: String, in database: PostgreSQLDatabase) -> Bool {
        key.isExactly(self.key) && database.identity == self.database.identity
    }

    /// Whether the lock is held: the connection has not ended as far as this process knows, and the server cannot have ended
    /// it for want of a message.
    var isHeld: Bool {
        let now = database.options.now()
        return state.withLock { $0.connection != nil && now < $0.confirmed + database.options.lockTimeout }
    }

    /// The number of the latest grant to this holder.
    var number: Int64 { state.withLock { $0.number } }

    /// Returns the number of the grant. If the lock was lost, acquires it again.
    func number(until deadline: ContinuousClock.Instant) async throws -> Int64 {
        if !isHeld {
            lose()
            try await acquire(until: deadline)
        }
        return state.withLock { $0.number }
    }

    /// Notes that the lock has another holder, or that its connection has ended.
    func lose() {
        let (connection, keeper) = state.withLock { state in
            defer { (state.connection, state.keeper) = (nil, nil) }
            return (state.connection, state.keeper)
        }
        keeper?.cancel()
        connection?.close()
    }

    func release() {
        state.withLock { $0.isReleased = true }
        lose()
    }

    /// Waits for the lock, and gives it its number. If the connection ends meanwhile, another one is opened.
    ///
    /// - Parameter deadline: The end of the wait; nil for none. In any case, the wait ends with an error if the server cannot
    ///   be reached for as long as a call may take.
    func acquire(until deadline: ContinuousClock.Instant?) async throws {
        var backoff = Backoff()
        var giveUp = database.deadline
        while true {
            var isConnected = false
            do {
                let (connection, table) = try await database.connectToWait(until: giveUp)
                isConnected = true
                let lock = DatabaseValue.integer(table.advisoryLock(key))
                try await connection.script(StatementLimits.none.statements(), until: giveUp)
                do {
                    _ = try await connection.query(SessionTable.lock, [lock], until: deadline)
                } catch let error as DatabaseError where error.isLost {
                    if let deadline, .now >= deadline { throw busy }
                    throw error
                }
                let asked = database.options.now()
                let end = database.deadline
                // The server answers each report that follows before this process would give up the connection.
                let limits = StatementLimits(min(database.options.callTimeout, interval / 2))
                try await connection.script(limits.statements(), until: end)
                let rows = try await connection.query(table.grant, [.text(key)], until: end)
                guard let number = rows.first?.first??.integer else {
                    throw DatabaseError(message: "the lock has no number")
                }
                return keep(connection, number, since: asked)
            } catch let error as DatabaseError where error.endsConnection || error.isConflict {
                // The connection has ended after a longer wait: begin anew.
                if isConnected, .now > giveUp { (backoff, giveUp) = (Backoff(), database.deadline) }
                // The server has ended the wait, which was a part of a deadlock of the holder’s making.
                if isConnected, error.isConflict { giveUp = database.deadline }
                guard try await backoff.pause(until: min(giveUp, deadline ?? giveUp)) else { throw error }
            }
        }
    }

    private func keep(_ connection: Connection, _ number: Int64, since asked: ContinuousClock.Instant) {
        let isReleased = state.withLock { state in
            guard !state.isReleased else { return true }
            (state.connection, state.number, state.confirmed) = (connection, number, asked)
            state.keeper = Task { [self] in await report(on: connection) }
            return false
        }
        if isReleased { connection.close() }
    }

    private var interval: Duration { database.options.lockTimeout / 4 }

    /// Reports to the server that this process lives, and notices when the connection has ended.
    private func report(on connection: Connection) async {
        while true {
            do {
                let next = ContinuousClock.now + interval
                while .now < next { _ = try await connection.notifications(until: next) }
                let asked = database.options.now()
                // An error of the server is a response too: another role can lock its catalogs.
                do { _ = try await connection.query("SELECT 1", until: .now + interval) } catch let error
                    as DatabaseError
                    where error.leavesConnection
                {}
                state.withLock { if $0.connection === connection { $0.confirmed = asked } }
            } catch {
                connection.close()
                return state.withLock { if $0.connection === connection { $0.connection = nil } }
            }
        }
    }

    private var busy: AuthError {
        .database(
            location, .busy, "cannot be changed: its refresh lock was lost, and could not be acquired again in time",
            isTemporary: true)
    }
}
