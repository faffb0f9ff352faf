internal import AppAuthProtocol
internal import AppAuthSession

/// A row as it was read.
struct SessionRow: Sendable {
    let sealed: SealedRecord
    let version: Int64
    /// The number of the latest grant of the refresh lock.
    let lockNumber: Int64
}

/// Reads and changes the row of a session.
///
/// A change is a read and a conditional write, not a transaction: between the two, nothing is locked at the server that a
/// stopped process could keep locked. If another change comes between, it is repeated with what that has written.
struct SessionRowAccess: Sendable {
    let database: PostgreSQLDatabase
    let key: String
    /// The store, for messages.
    let location: String

    func load(until deadline: ContinuousClock.Instant) async throws -> AuthStateRecord? {
        let row = try await database.withTurn(until: deadline) { try await read(until: deadline) }
        return try row.flatMap { try open($0) }
    }

    /// - Parameter lock: The refresh lock under which the change is made. If it was lost, it is acquired again first, and the
    ///   change sees what other holders have written meanwhile.
    func update<Result: Sendable>(
        under lock: HeldLock?, until deadline: ContinuousClock.Instant,
        _ change: @escaping @Sendable (inout AuthStateRecord?) throws -> Result
    ) async throws -> Result {
        var backoff = Backoff()
        while true {
            let number = try await lock?.number(until: deadline)
            let result = try await database.withTurn(until: deadline) { () async throws -> Result? in
                let row = try await read(until: deadline)
                guard number == nil || row?.lockNumber == number else {
                    lock?.lose()
                    return nil
                }
                let old = try row.flatMap { try open($0) }
                var record = old
                let result = try change(&record)
                guard record != old else { return result }
                let sealed = try seal(record)
                return try await write(sealed, over: row, number, until: deadline) ? result : nil
            }
            if let result { return result }
            guard try await backoff.pause(until: deadline) else {
                throw AuthError.database(location, .busy, "is changed too often by others", isTemporary: true)
            }
        }
    }

    private func open(_ row: SessionRow) throws -> AuthStateRecord? {
        try database.cipher.open(row.sealed, in: key, from: location)
    }

    private func seal(_ record: AuthStateRecord?) throws -> SealedRecord {
        let sealed = try database.cipher.seal(record, in: key)
        let (count, limit) = (sealed.bytes?.count ?? 0, database.options.largestRecord)
        guard count <= limit else {
            throw AuthError(
                .store, .store,
                "the session has \(count) bytes, but \(location) can hold only \(limit). It was not changed",
                outcome: .notSent)
        }
        return sealed
    }

    private func read(until deadline: ContinuousClock.Instant) async throws -> SessionRow? {
        let limit = database.options.largestRecord
        let rows = try await database.reach(until: deadline, repeats: true) { connection in
            try await connection.query(
                database.table.read, [.text(key), .integer(Int64(limit))], until: deadline)
        }
        guard let row = rows.first else { return nil }
        guard row.count == 5, let version = row[2], let number = row[3] else {
            throw AuthError.damagedStore(location, "has a row of another form")
        }
        guard row[0] != nil || row[4] == nil else {
            throw AuthError.damagedStore(location, "is too large for a session")
        }
        return SessionRow(
            sealed: SealedRecord(bytes: row[0], keyID: row[1].map(\.text)), version: version.integer,
            lockNumber: number.integer)
    }

    /// Writes a record, unless the row has changed since it was read.
    ///
    /// If the connection ends before the server's response, the outcome is unknown. So the row is read again: if it has
    /// this record, it was written; if it has not changed, the write is repeated.
    ///
    /// - Returns: Whether it was written.
    private func write(
        _ sealed: SealedRecord, over row: SessionRow?, _ number: Int64?, until deadline: ContinuousClock.Instant
    ) async throws -> Bool {
        var unknown: DatabaseError?
        while true {
            do {
                if try await writeOnce(sealed, over: row, number, until: deadline) { return true }
            } catch let error as DatabaseError where error.endsConnection {
                unknown = error
            } catch let error as DatabaseError where error.isConflict {}
            guard let unknown else { return false }
            let now = try await read(until: deadline)
            if now?.version != row?.version {
                guard let now, now.sealed == sealed else { throw unknown }
                return true
            }
            guard now?.lockNumber == row?.lockNumber || number == nil else { return false }
        }
    }

    private func writeOnce(
        _ sealed: SealedRecord, over row: SessionRow?, _ number: Int64?, until deadline: ContinuousClock.Instant
    ) async throws -> Bool {
        let table = database.table
        let record: [DatabaseValue] = [.text(key), .bytes(sealed.bytes), .text(sealed.keyID)]
        let notice: [DatabaseValue] = [.text(table.channel), .text(table.payload(key))]
        let rows = try await database.reach(until: deadline, repeats: false) { connection in
            guard let row else { return try await connection.query(table.insert, record + notice, until: deadline) }
            return try await connection.query(
                table.change, record + [.integer(row.version), .integer(number)] + notice, until: deadline)
        }
        return !rows.isEmpty
    }
}
