/// A bounded buffer of bytes between a writer and a reader. Each of them is a task, which waits, or a thread that must not
/// wait: it leaves a closure, which is called once when it should try again.
package final class BytePipe: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        /// What was read since the beginning; nil once that is more than is kept.
        var kept: [UInt8]?
        var end: Result<Void, any Error>?
        var reading = 0
        var isRequested = false
        var wakeReader, wakeWriter, wakeOnRequest: Wake?

        /// Removes and returns the closures of both sides.
        mutating func wakes() -> [Wake] {
            defer { (wakeReader, wakeWriter, wakeOnRequest) = (nil, nil, nil) }
            return [wakeReader, wakeWriter, wakeOnRequest].compactMap { $0 }
        }
    }

    package typealias Wake = @Sendable () -> Void

    private let state: LockedValue<State>
    private let capacity: Int
    private let keptBytes: Int

    /// - Parameters:
    ///   - capacity: The number of unread bytes from which on the writer waits.
    ///   - keptBytes: How many bytes of the beginning can be read again.
    package init(capacity: Int = 64 << 10, keeping keptBytes: Int = 0) {
        (self.capacity, self.keptBytes) = (capacity, keptBytes)
        state = LockedValue(State(kept: []))
    }

    // MARK: for a thread

    /// Returns unread bytes; none at the end; nil if there are none yet, and `wake` is called when there are.
    ///
    /// - Parameter reading: The value of ``reading`` when the reader began.
    /// - Throws: The error of ``fail(_:)``; `CancellationError` if another reader has begun.
    package func take(
        atMost limit: Int = .max, reading: Int = 0, orWake wake: @escaping Wake
    ) throws -> [UInt8]? {
        let (taken, wakes) = try state.withLock { state -> ([UInt8]?, [Wake]) in
            guard reading == state.reading else { throw CancellationError() }
            state.isRequested = true
            let request = state.wakeOnRequest.take()
            guard !state.bytes.isEmpty else {
                if let end = state.end {
                    try end.get()
                    return ([], [])
                }
                state.wakeReader = wake
                return (nil, [request].compactMap { $0 })
            }
            let taken = state.bytes.count <= limit ? state.bytes : Array(state.bytes.prefix(limit))
            if taken.count == state.bytes.count { state.bytes = [] } else { state.bytes.removeFirst(taken.count) }
            if let kept = state.kept, kept.count + taken.count <= keptBytes {
                state.kept?.append(contentsOf: taken)
            } else {
                state.kept = nil
            }
            return (taken, [request, state.wakeWriter.take()].compactMap { $0 })
        }
        for wake in wakes { wake() }
        return taken
    }

    /// Adds bytes; returns false without adding any if there is no room, and `wake` is called when there is.
    ///
    /// - Throws: The error of ``fail(_:)``.
    package func put(_ bytes: some Sequence<UInt8>, orWake wake: @escaping Wake) throws -> Bool {
        let reader = try state.withLock { state -> Wake?? in
            if case .failure(let error) = state.end { throw error }
            guard state.bytes.count < capacity else {
                state.wakeWriter = wake
                return .none
            }
            state.bytes.append(contentsOf: bytes)
            return .some(state.wakeReader.take())
        }
        guard let reader else { return false }
        reader?()
        return true
    }

    // MARK: for a task. If it is cancelled, the pipe fails.

    /// Returns unread bytes; nil at the end.
    package func read() async throws -> [UInt8]? {
        let bytes = try await wait { try take(orWake: $0) }
        return bytes.isEmpty ? nil : bytes
    }

    /// Adds bytes once there is room.
    package func write(_ bytes: some Sequence<UInt8> & Sendable) async throws {
        try await wait { try put(bytes, orWake: $0) ? true : nil }
    }

    /// Waits until the reader has asked for bytes.
    package func requested() async throws {
        try await wait { wake in
            try state.withLock { state -> Bool? in
                try state.end?.get()
                if !state.isRequested { state.wakeOnRequest = wake }
                return state.isRequested ? true : nil
            }
        }
    }

    @discardableResult
    private func wait<Value>(_ attempt: (@escaping Wake) throws -> Value?) async throws -> Value {
        while true {
            try Task.checkCancellation()
            var result = Result<Value?, any Error>.success(nil)
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    result = Result { try attempt { continuation.resume() } }
                    if case .success(nil) = result { return }
                    continuation.resume()
                }
            } onCancel: {
                fail(CancellationError())
            }
            if let value = try result.get() { return value }
        }
    }

    // MARK: both

    /// Ends the bytes.
    package func finish() { end(.success(())) }

    /// Whether there are no further bytes, and no error.
    package var isFinished: Bool {
        state.withLock { state in
            if case .success = state.end { true } else { false }
        }
    }

    /// Ends the bytes with an error, which the reader gets after them. The writer gets it at once.
    package func fail(_ error: any Error) { end(.failure(error)) }

    private func end(_ end: Result<Void, any Error>) {
        let wakes = state.withLock { state -> [Wake] in
            guard state.end == nil else { return [] }
            state.end = end
            return state.wakes()
        }
        for wake in wakes { wake() }
    }

    /// The number of the current reader.
    package var reading: Int { state.withLock { $0.reading } }

    /// Lets another reader begin with the first byte. The present one gets no further bytes.
    ///
    /// - Returns: Whether the beginning is kept.
    package func rewind() -> Bool {
        state.withLock { state in
            if case .failure = state.end { return false }
            guard let kept = state.kept else { return false }
            state.bytes = kept + state.bytes
            state.kept = []
            state.reading += 1
            state.wakeReader = nil
            return true
        }
    }
}
