internal import AppAuth
internal import AppAuthConcurrency
internal import CShims
internal import Glibc

/// A connection to the server. One task at a time uses it; any thread may close it.
///
/// The sockets are waited for by a ``DescriptorPoll``, so no thread is blocked. If a wait ends early, because its task was
/// cancelled or its deadline has passed, the connection is closed: the rest of a response would be mistaken for the next one.
final class Connection: Sendable {
    /// The values of a row; nil for NULL.
    typealias Row = [[UInt8]?]
    /// The values are those of `$1`, `$2` …, in PostgreSQL's binary form. The text names their types.
    typealias Statement = (text: String, values: [DatabaseValue])

    private let library: ClientLibrary
    private let poll: DescriptorPoll
    private let secrets: [String]
    private let handle: LockedValue<Handle?>

    private let hasDropped = LockedValue(false)

    /// libpq's connection, which is used only under the lock.
    private struct Handle: @unchecked Sendable { let pointer: OpaquePointer }

    /// - Parameter handle: An open connection of libpq, which nothing else uses.
    init(owning handle: OpaquePointer, _ library: ClientLibrary, _ poll: DescriptorPoll, secrets: [String]) {
        (self.library, self.poll, self.secrets) = (library, poll, secrets)
        self.handle = LockedValue(Handle(pointer: handle))
        // By default, libpq prints notices to the standard error stream.
        _ = library.functions.PQsetNoticeReceiver(handle, { _, _ in }, nil)
        _ = library.functions.PQsetnonblocking(handle, 1)
    }

    deinit { close() }

    /// Ends the connection. The server then ends its session, and releases the session's locks.
    func close() {
        handle.withLock { handle in
            if let handle { library.functions.PQfinish(handle.pointer) }
            handle = nil
        }
    }

    /// Sends one statement, and waits for its rows.
    ///
    /// - Parameter deadline: The latest time for the response; nil for none.
    func query(
        _ statement: String, _ values: [DatabaseValue] = [], until deadline: ContinuousClock.Instant?
    ) async throws -> [Row] {
        try await exchange(until: deadline) { pq, handle in
            Self.send((statement, values), pq, handle)
        } receive: {
            try await result(until: deadline).get()
        }
    }

    /// Sends two statements at once, each a transaction of its own, and waits for both.
    ///
    /// - Returns: The rows of the first one, and why the second one failed, if it did.
    func query(
        _ first: Statement, then second: Statement, until deadline: ContinuousClock.Instant?
    ) async throws -> (rows: [Row], failure: (any Error)?) {
        try await exchange(until: deadline) { pq, handle in
            guard pq.PQenterPipelineMode(handle) != 0 else { return 0 }
            // What precedes a synchronization is one transaction.
            let isSent = [first, second].allSatisfy {
                Self.send($0, pq, handle) != 0 && pq.PQpipelineSync(handle) != 0
            }
            return isSent ? 1 : 0
        } receive: {
            let result = try await result(until: deadline, isPipelined: true)
            var failure: (any Error)?
            do {
                let second = try await self.result(until: deadline, isPipelined: true)
                try withHandle { pq, handle in if pq.PQexitPipelineMode(handle) == 0 { throw lost(pq, handle) } }
                _ = try second.get()
            } catch {
                failure = error
                if (error as? DatabaseError)?.leavesConnection != true { close() }
            }
            return (try result.get(), failure)
        }
    }

    private static func send(_ statement: Statement, _ pq: shims_pq, _ handle: OpaquePointer) -> Int32 {
        let values = statement.values
        let lengths = values.map { Int32($0.bytes?.count ?? 0) }
        let formats = [Int32](repeating: 1, count: values.count)
        // An empty value needs an address too: NULL is another value.
        let copies = values.map { value in
            value.bytes.map { bytes in
                let copy = UnsafeMutablePointer<CChar>.allocate(capacity: max(1, bytes.count))
                for (index, byte) in bytes.enumerated() { copy[index] = CChar(bitPattern: byte) }
                return copy
            }
        }
        defer { for copy in copies { copy?.deallocate() } }
        let pointers = copies.map { $0.map { UnsafePointer($0) } }
        return pq.PQsendQueryParams(
            handle, statement.text, Int32(values.count), nil, pointers, lengths, formats, 1)
    }

    /// Sends statements without values, which have an effect only together: one transaction.
    ///
    /// - Returns: The rows of the last one that has rows, in PostgreSQL's text form.
    @discardableResult
    func script(_ statements: String, until deadline: ContinuousClock.Instant?) async throws -> [Row] {
        try await exchange(until: deadline) { pq, handle in
            pq.PQsendQuery(handle, statements)
        } receive: {
            try await result(until: deadline).get()
        }
    }

    /// Waits for a notification, or the end of the connection.
    ///
    /// - Returns: The payloads of the notifications that have arrived; none if the deadline has passed.
    func notifications(until deadline: ContinuousClock.Instant) async throws -> [String] {
        do {
            let received = try pendingNotifications()
            guard received.isEmpty else { return received }
            guard try await poll.wait(for: socket(), POLLIN, until: deadline) else { return [] }
            try withHandle { pq, handle in if pq.PQconsumeInput(handle) == 0 { throw lost(pq, handle) } }
            return try pendingNotifications()
        } catch {
            close()
            throw error
        }
    }

    /// Whether notifications have arrived beside a response since the last call of this.
    func hasDroppedNotifications() -> Bool {
        hasDropped.withLock { dropped in
            defer { dropped = false }
            return dropped
        }
    }

    private func pendingNotifications() throws -> [String] {
        try withHandle { pq, handle in
            var payloads: [String] = []
            while let notification = pq.PQnotifies(handle) {
                payloads.append(String(cString: notification.pointee.payload))
                pq.PQfreemem(notification)
            }
            return payloads
        }
    }

    private func exchange<Response>(
        until deadline: ContinuousClock.Instant?, _ send: (shims_pq, OpaquePointer) -> Int32,
        receive: () async throws -> Response
    ) async throws -> Response {
        do {
            try withHandle { pq, handle in if send(pq, handle) == 0 { throw lost(pq, handle) } }
            try await flush(until: deadline)
            return try await receive()
        } catch let error as DatabaseError where error.leavesConnection {
            throw error
        } catch {
            close()
            throw error
        }
    }

    private func flush(until deadline: ContinuousClock.Instant?) async throws {
        while true {
            let rest = try withHandle { pq, handle in pq.PQflush(handle) }
            if rest == 0 { return }
            guard rest > 0 else { throw try withHandle(lost) }
            // The server may be sending too, and waiting until this side reads.
            try await ready(POLLIN | POLLOUT, until: deadline)
            try withHandle { pq, handle in if pq.PQconsumeInput(handle) == 0 { throw lost(pq, handle) } }
        }
    }

    /// Reads the response to what was sent; in a pipeline, to the next statement.
    private func result(
        until deadline: ContinuousClock.Instant?, isPipelined: Bool = false
    ) async throws -> Result<[Row], DatabaseError> {
        var rows: [Row] = []
        var failure: DatabaseError?
        while true {
            while try withHandle({ pq, handle in pq.PQisBusy(handle) }) != 0 {
                try await ready(POLLIN, until: deadline)
                try withHandle { pq, handle in if pq.PQconsumeInput(handle) == 0 { throw lost(pq, handle) } }
                // Every role can send any number of them, which would fill the memory until the response.
                if try !pendingNotifications().isEmpty { hasDropped.withLock { $0 = true } }
            }
            let isLast = try withHandle { pq, handle in
                guard let result = pq.PQgetResult(handle) else {
                    guard isPipelined else { return true }
                    // The transaction ends, or fails, with the synchronization.
                    guard Int(pq.PQstatus(handle)) == SHIMS_PQ_CONNECTION_OK else { throw lost(pq, handle) }
                    return false
                }
                defer { pq.PQclear(result) }
                switch Int(pq.PQresultStatus(result)) {
                case SHIMS_PQ_PIPELINE_SYNC: return true
                case SHIMS_PQ_TUPLES_OK: rows = Self.rows(of: result, pq)
                case SHIMS_PQ_COMMAND_OK: break
                default: failure = failure ?? error(of: result, pq, handle)
                }
                return false
            }
            if isLast { break }
        }
        return failure.map { .failure($0) } ?? .success(rows)
    }

    private static func rows(of result: OpaquePointer, _ pq: shims_pq) -> [Row] {
        (0..<pq.PQntuples(result)).map { row in
            (0..<pq.PQnfields(result)).map { column in
                guard pq.PQgetisnull(result, row, column) == 0 else { return nil }
                let count = Int(pq.PQgetlength(result, row, column))
                return Array(UnsafeRawBufferPointer(start: pq.PQgetvalue(result, row, column), count: count))
            }
        }
    }

    private func ready(_ events: Int32, until deadline: ContinuousClock.Instant?) async throws {
        guard try await poll.wait(for: socket(), events, until: deadline) else {
            throw DatabaseError.lost("the server did not respond in time")
        }
    }

    /// The number of the session, as the server or a pool has given it when the connection was made.
    var sessionNumber: Int64 { get throws { try withHandle { pq, handle in Int64(pq.PQbackendPID(handle)) } } }

    private func socket() throws -> Int32 { try withHandle { pq, handle in pq.PQsocket(handle) } }

    private func error(of result: OpaquePointer, _ pq: shims_pq, _ handle: OpaquePointer) -> DatabaseError {
        let state = pq.PQresultErrorField(result, Int32(SHIMS_PQ_SQLSTATE)).map { String(cString: $0) }
        guard let message = pq.PQresultErrorField(result, Int32(SHIMS_PQ_MESSAGE)) else { return lost(pq, handle) }
        return DatabaseError(
            state: state, message: String(cString: message).redacted(secrets),
            isLost: Int(pq.PQstatus(handle)) != SHIMS_PQ_CONNECTION_OK)
    }

    private func lost(_ pq: shims_pq, _ handle: OpaquePointer) -> DatabaseError {
        .lost(pq.message(of: handle).redacted(secrets))
    }

    private func withHandle<Result>(_ body: (shims_pq, OpaquePointer) throws -> Result) throws -> Result {
        try handle.withLock { handle in
            guard let handle else { throw DatabaseError.lost("the connection was closed") }
            return try body(library.functions, handle.pointer)
        }
    }
}

extension shims_pq {
    /// The message of the latest failure. It may contain a secret.
    func message(of handle: OpaquePointer) -> String { PQerrorMessage(handle).map { String(cString: $0) } ?? "" }
}

/// A value in PostgreSQL's binary form.
struct DatabaseValue: Sendable {
    let bytes: [UInt8]?

    static let null = DatabaseValue(bytes: nil)
    static func text(_ text: String?) -> DatabaseValue { DatabaseValue(bytes: text.map { Array($0.utf8) }) }
    static func bytes(_ bytes: [UInt8]?) -> DatabaseValue { DatabaseValue(bytes: bytes) }
    static func integer(_ value: Int64?) -> DatabaseValue {
        DatabaseValue(bytes: value.map { value in withUnsafeBytes(of: value.bigEndian) { Array($0) } })
    }
}

extension [UInt8] {
    /// The value of a `bigint`.
    var integer: Int64 { reduce(0) { $0 << 8 | Int64($1) } }
    var text: String { String(decoding: self, as: UTF8.self) }
}
