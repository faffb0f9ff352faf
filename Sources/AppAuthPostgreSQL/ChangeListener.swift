internal import AppAuthConcurrency

/// The connection on which the server reports changes of rows. It is open while there are subscribers.
final class ChangeListener: Sendable {
    private struct State {
        var subscribers: [Int: (key: String, stream: AsyncStream<Void>.Continuation)] = [:]
        var lastID = 0
        var task: Task<Void, Never>?
    }

    private let state = LockedValue(State())

    /// - Parameter key: The key of the row.
    func changes(of key: String, in database: PostgreSQLDatabase) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let id = state.withLock { state in
            state.lastID += 1
            state.subscribers[state.lastID] = (key, continuation)
            // The task keeps the database only while there are subscribers.
            if state.task == nil { state.task = Task { [self] in await listen(to: database) } }
            return state.lastID
        }
        continuation.onTermination = { [weak self] _ in self?.leave(id) }
        return stream
    }

    private func leave(_ id: Int) {
        let task = state.withLock { state -> Task<Void, Never>? in
            state.subscribers[id] = nil
            guard state.subscribers.isEmpty else { return nil }
            defer { state.task = nil }
            return state.task
        }
        task?.cancel()
    }

    private func listen(to database: PostgreSQLDatabase) async {
        var pause = Duration.milliseconds(500)
        while !Task.isCancelled {
            do {
                let (connection, table) = try await database.connectToWait(until: database.deadline)
                defer { connection.close() }
                try await connection.script("LISTEN \"\(table.channel)\"", until: database.deadline)
                // Changes may have happened before.
                report { _ in true }
                pause = .milliseconds(500)
                try await receive(on: connection, of: table, every: database.options.lockTimeout / 4)
            } catch {
                try? await Task.sleep(for: pause * Double.random(in: 0.5...1))
                pause = min(.seconds(30), pause * 2)
            }
        }
    }

    private func receive(
        on connection: Connection, of table: SessionTable, every interval: Duration
    ) async throws {
        var next = ContinuousClock.now + interval
        while true {
            let payloads = try await connection.notifications(until: next)
            if !payloads.isEmpty { report { payloads.contains(table.payload($0)) } }
            guard .now >= next else { continue }
            // Otherwise, a network that drops everything would not be noticed, nor would the server notice it.
            _ = try await connection.query("SELECT 1", until: .now + interval)
            if connection.hasDroppedNotifications() { report { _ in true } }
            next = .now + interval
        }
    }

    private func report(_ isMeant: (String) -> Bool) {
        let streams = state.withLock { state in state.subscribers.values.filter { isMeant($0.key) }.map(\.stream) }
        for stream in streams { stream.yield() }
    }
}
