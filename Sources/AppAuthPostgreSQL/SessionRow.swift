internal import AppAuthProtocol
internal import AppAuthSession
internal import Logging

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

    /// - Parameter lock: A lock that is lost if the row has the number of a later grant.
    func load(
        confirming lock: HeldLock? = nil, until deadline: ContinuousClock.Instant
    ) async throws -> AuthStateRecord? {
        let (row, table) = try await database.withTurn(until: deadline) { try await read(until: deadline) }
        if let lock, row?.lockNumber != lock.number { lock.lose() }
        return try row.flatMap { try open($0, of: table) }
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
                let (row, table) = try await read(until: deadline)
                guard number == nil || row?.lockNumber == number else {
                    lock?.lose()
                    return nil
                }
                let old = try row.flatMap { try open($0, of: table) }
                var record = old
                let result = try change(&record)
                guard record != old else { return result }
                let sealed = try seal(record, for: table)
                return try await write(sealed, over: row, number, until: deadline) ? result : nil
            }
            if let result { return result }
            guard try await backoff.pause(until: deadline) else {
                throw AuthError.database(location, .busy, "is changed too often by others", isTemporary: true)
            }
        }
    }

    private func open(_ row: SessionRow, of table: SessionTable) throws -> AuthStateRecord? {
        try database.cipher.open(row.sealed, in: place(table), from: location)
    }

    /// What an encrypted record is bound to: to someone who can write several tables, it is useless in another one.
    private func place(_ table: SessionTable) -> String {
        let context = database.options.encryptionContext ?? table.fullName
        return "\(context.utf8.count) \(context)\(key)"
    }

    private func seal(_ record: AuthStateRecord?, for table: SessionTable) throws -> SealedRecord {
        let sealed = try database.cipher.seal(record, in: place(table))
        let (count, limit) = (sealed.bytes?.count ?? 0, database.options.largestRecord)
        guard count <= limit else {
            throw AuthError(
                .store, .store,
                "the session has \(count) bytes, but \(location) can hold only \(limit). It was not changed",
                outcome: .notSent)
        }
        return sealed
    }

    private func read(
        until deadline: ContinuousClock.Instant
    ) async throws -> (row: SessionRow?, table: SessionTable) {
        let limit = database.options.largestRecord
        let (rows, table) = try await database.reach(until: deadline, repeats: true) { connection, table in
            let rows = try await connection.query(
                table.read, [.text(key), .integer(Int64(limit))], until: deadline)
            return (rows, table)
        }
        guard let row = rows.first else { return (nil, table) }
        guard row.count == 5, let version = row[2], let number = row[3] else {
            throw AuthError.damagedStore(location, "has a row of another form")
        }
        guard row[0] != nil || row[4] == nil else {
            throw AuthError.damagedStore(location, "is too large for a session")
        }
        let found = SessionRow(
            sealed: SealedRecord(bytes: row[0], keyID: row[1].map(\.text)), version: version.integer,
            lockNumber: number.integer)
        return (found, table)
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
            let now = try await read(until: deadline).row
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
        let record: [DatabaseValue] = [.text(key), .bytes(sealed.bytes), .text(sealed.keyID)]
        let (rows, failure) = try await database.reach(until: deadline, repeats: false) { connection, table in
            let change = row.map { (table.change, record + [.integer($0.version), .integer(number)]) }
            let notice: [DatabaseValue] = [.text(table.channel), .text(table.payload(key))]
            return try await connection.query(
                change ?? (table.insert, record), then: (SessionTable.notify, notice), until: deadline)
        }
        if let failure, !rows.isEmpty {
            database.options.logger.warning(
                "store: \(location) is written, but the change is not reported to other processes: \(failure)")
        }
        return !rows.isEmpty
    }
}
