internal import AppAuthConcurrency
internal import AppAuthProtocol
internal import CShims
internal import Glibc

/// The server of a redirect listener: one thread that serves all connections, and the state that it shares with callers.
final class SocketServer<Rules: ConnectionRules>: Sendable {
    /// What a waiting caller makes of a redirect.
    private enum Match: Sendable {
        /// It is not for the caller. The wait goes on.
        case foreign
        /// It is for the caller, which waits for more.
        case taken
        /// It is the awaited one. The closure resumes the caller with the result.
        case last(@Sendable () -> Void)
    }

    /// A caller that waits for the redirect.
    private struct Waiter: Sendable {
        let match: @Sendable (_ parameters: String) -> Match
        let fail: @Sendable (any Error) -> Void
    }

    private struct State {
        var rules: Rules
        var phase = RedirectPhase.open
        var ignored = 0
        /// What stood between the browser and the redirect, one of each kind.
        var obstacles: [BrowserObstacle.Kind: BrowserObstacle] = [:]
        /// Learns each obstacle once.
        var learn: (@Sendable (BrowserObstacle) -> Void)?
        var waiter: Waiter?
        var failure: AuthError?
        var finishers: [CheckedContinuation<Void, Never>] = []
        var isHurried = false
        var isClosing = false
        var hasEnded = false
    }

    private let state: LockedValue<State>
    private let thread = LockedValue<SystemThread?>(nil)
    /// Readable if the thread must read the state again. It is closed once the thread has ended.
    let wakeUp: Int32

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - sockets: The listening sockets. The server closes them, even if the initializer throws.
    ///   - tls: The certificate, if the connections are encrypted.
    ///   - admit: Decides whether a new connection is served. It runs before anything is read.
    ///   - cleanUp: Called once, after the sockets are closed and even if the initializer throws.
    init(
        _ rules: Rules, on sockets: [Int32], named name: String, limits: ListenerLimits, tls: ListenerTLS? = nil,
        admit: @escaping @Sendable (Int32) -> Admission, cleanUp: @escaping @Sendable () -> Void
    ) throws {
        state = LockedValue(State(rules: rules))
        wakeUp = shims_event()
        do {
            guard wakeUp >= 0 else {
                throw AuthError(.unavailable, .redirect, "an event could not be made: \(SystemError.text(-wakeUp))")
            }
            let thread = try SystemThread(named: name, for: .redirect) { [self] in
                var loop = SocketLoop(self, sockets, limits, tls, admit)
                loop.run()
                end(sockets, cleanUp)
            }
            self.thread.withLock { $0 = thread }
        } catch {
            end(sockets, cleanUp)
            throw error
        }
    }

    /// Closes the sockets, then fails a waiting caller and resumes the calls of ``finish(with:)``.
    private func end(_ sockets: [Int32], _ cleanUp: () -> Void) {
        for socket in sockets { shims_end(socket) }
        cleanUp()
        let (waiter, finishers) = state.withLock { state in
            defer { (state.waiter, state.finishers) = (nil, []) }
            (state.isClosing, state.hasEnded) = (true, true)
            Glibc.close(wakeUp)
            return (state.waiter, state.finishers)
        }
        waiter?.fail(
            AuthError(.listener, .redirect, "the listener was closed before the redirect arrived", outcome: .notSent))
        for finisher in finishers { finisher.resume() }
    }

    func withRules<Result>(_ body: (_ rules: inout Rules, _ phase: RedirectPhase) -> Result) -> Result {
        state.withLock { body(&$0.rules, $0.phase) }
    }

    /// Changes the state and wakes the thread. It writes to the descriptor under the lock, since its number may be
    /// reused once the thread has ended.
    private func update<Result>(_ body: (inout State) -> Result) -> Result {
        state.withLock { state in
            defer {
                if !state.hasEnded {
                    var one: UInt64 = 1
                    write(wakeUp, &one, MemoryLayout.size(ofValue: one))
                }
            }
            return body(&state)
        }
    }
}

/// Used by the callers.
extension SocketServer {
    /// The number of requests and connections that had no effect.
    var ignored: Int { state.withLock { $0.ignored } }

    /// Calls a function once for each obstacle between the browser and the redirect, also for those that were met before.
    func onObstacle(_ learn: @escaping @Sendable (BrowserObstacle) -> Void) {
        let met = state.withLock { state in
            state.learn = learn
            return state.obstacles.values
        }
        met.forEach(learn)
    }

    /// Waits for a redirect that `match` recognises.
    func redirect<Value: Sendable>(match: @escaping @Sendable (_ parameters: String) -> Value?) async throws -> Value {
        try await wait { parameters, continuation in
            guard let value = match(parameters) else { return .foreign }
            return .last { continuation.resume(with: .success(value)) }
        }
    }

    /// Passes every redirect to `take`, until the server is closed or the task is cancelled.
    func redirects(take: @escaping @Sendable (_ parameters: String) -> Void) async throws {
        let _: Never = try await wait { parameters, _ in
            take(parameters)
            return .taken
        }
    }

    private func wait<Value: Sendable>(
        match: @escaping @Sendable (_ parameters: String, _ continuation: LockedContinuation<Value>) -> Match
    ) async throws -> Value {
        do {
            return try await withTaskCancellationHandler {
                try await withLockedContinuation { continuation in
                    wait(
                        Waiter(
                            match: { match($0, continuation) }, fail: { continuation.resume(throwing: $0) }))
                }
            } onCancel: {
                update { $0.isClosing = true }
            }
        } catch {
            // Close here, not in the handler, which runs under a lock of the task and must not wait for the thread.
            if Task.isCancelled {
                close()
                throw CancellationError()
            }
            throw error
        }
    }

    private func wait(_ waiter: Waiter) {
        let obstacle: AuthError? = update { state in
            func error(_ message: String) -> AuthError { AuthError(.listener, .redirect, message, outcome: .notSent) }
            if let failure = state.failure { return failure }
            if state.isClosing { return error("the listener is closed") }
            if state.phase != .open { return error("the listener has already received its one redirect") }
            if state.waiter != nil { return error("another caller already waits for the redirect") }
            state.waiter = waiter
            return nil
        }
        if let obstacle { waiter.fail(obstacle) }
    }

    /// Shows the outcome to the browser and closes everything once it has read the page.
    func finish(with page: CompletionPage) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { finisher in
                let hasEnded = update { state in
                    state.phase.finish(with: page)
                    // Without a redirect, no browser can ask for the page.
                    if state.phase == .open { state.isClosing = true }
                    if !state.hasEnded { state.finishers.append(finisher) }
                    return state.hasEnded
                }
                if hasEnded { finisher.resume() }
            }
        } onCancel: {
            update { $0.isHurried = true }
        }
        close()
    }

    /// Closes all sockets and ends the thread. A waiting call of ``redirect(match:)`` throws.
    func close() {
        update { $0.isClosing = true }
        let thread = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        thread?.join()
    }
}

/// Used by the thread.
extension SocketServer {
    /// Whether the listener is closed, whether the outcome is known, and whether its page has less time than usual.
    var orders: (isClosing: Bool, isFinished: Bool, isHurried: Bool) {
        state.withLock { state in
            let isFinished = if case .finished = state.phase { true } else { false }
            return (state.isClosing, isFinished, state.isHurried)
        }
    }

    /// Counts a request or a connection that has no effect.
    func ignore(_ obstacle: BrowserObstacle?) {
        let learn = state.withLock { state -> (@Sendable (BrowserObstacle) -> Void)? in
            state.ignored += 1
            guard let obstacle, state.obstacles[obstacle.kind] == nil else { return nil }
            state.obstacles[obstacle.kind] = obstacle
            return state.learn
        }
        if let obstacle { learn?(obstacle) }
    }

    /// Fails the caller that waits for the redirect, or the next one.
    func fail(_ error: AuthError) {
        let waiter = state.withLock { state in
            defer { (state.waiter, state.failure) = (nil, error) }
            return state.waiter
        }
        waiter?.fail(error)
    }

    /// Matches a redirect and resumes the caller if it is the awaited one. Returns nil if no caller waits yet. The
    /// caller's closure is the app's code, so it runs outside the lock.
    func match(_ parameters: String, of request: Rules.Request) -> [UInt8]? {
        guard let waiter = state.withLock({ $0.waiter }) else { return nil }
        let match = waiter.match(parameters)
        let (response, deliver) = state.withLock { state -> ([UInt8], (@Sendable () -> Void)?) in
            let isForeign = if case .foreign = match { true } else { false }
            if isForeign { state.ignored += 1 }
            // Another thread may have failed the caller meanwhile.
            let isAccepted = !isForeign && state.waiter != nil
            let response = state.rules.response(to: request, isAccepted: isAccepted)
            guard case .last(let deliver) = match, isAccepted else { return (response, nil) }
            (state.phase, state.waiter) = (.accepted, nil)
            return (response, deliver)
        }
        deliver?()
        return response
    }
}
