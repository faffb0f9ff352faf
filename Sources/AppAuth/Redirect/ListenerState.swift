internal import AppAuthProtocol
internal import CShims
internal import Glibc
internal import JOSE

/// The state that the callers and the listener's thread share: the rules, the waiting caller, and the wake-up.
final class ListenerState: Sendable {
    /// A caller that waits for the redirect.
    struct Waiter: Sendable {
        /// Returns nil for parameters that do not match; otherwise a closure that resumes the caller with the result.
        let match: @Sendable (_ parameters: String) -> (@Sendable () -> Void)?
        let fail: @Sendable (any Error) -> Void

        init<Value: Sendable>(
            _ continuation: LockedContinuation<Value>, match: @escaping @Sendable (String) -> Value?
        ) {
            self.match = { parameters in
                guard let value = match(parameters) else { return nil }
                return { continuation.resume(returning: value) }
            }
            fail = { continuation.resume(throwing: $0) }
        }
    }

    private struct Contents {
        var routes: RedirectRoutes
        var waiter: Waiter?
        var finishers: [CheckedContinuation<Void, Never>] = []
        var isHurried = false
        var isClosing = false
        var hasEnded = false
    }

    private let contents: LockedValue<Contents>
    /// Readable if the thread must read this state again. It is closed once the thread has ended.
    let wakeUp: Int32

    init(_ routes: RedirectRoutes) throws {
        wakeUp = shims_event()
        guard wakeUp >= 0 else {
            throw AuthError(.unavailable, .redirect, "an event could not be made: \(SystemError.text(-wakeUp))")
        }
        contents = LockedValue(Contents(routes: routes))
    }

    /// Changes the contents and wakes the thread. It writes to the descriptor under the lock, since its number may be
    /// reused once the thread has ended.
    private func update<Result>(_ body: (inout Contents) -> Result) -> Result {
        contents.withLock { contents in
            defer {
                if !contents.hasEnded {
                    var one: UInt64 = 1
                    write(wakeUp, &one, MemoryLayout.size(ofValue: one))
                }
            }
            return body(&contents)
        }
    }
}

/// Used by the callers.
extension ListenerState {
    var redirectURIs: [String] { contents.withLock { $0.routes.redirectURIs } }
    var ignoredRequests: Int { contents.withLock { $0.routes.ignoredRequests } }

    var hasUnusedOneTimeURL: Bool { contents.withLock { $0.routes.hasUnusedOneTimeURL } }

    func oneTimeURL(to target: String, secret: String) -> String {
        contents.withLock { $0.routes.oneTimeURL(to: target, secret: secret) }
    }

    func wait(_ waiter: Waiter) {
        let obstacle: String? = update { contents in
            if contents.isClosing { return "the listener is closed" }
            if contents.routes.phase != .open { return "the listener has already received its one redirect" }
            if contents.waiter != nil { return "somebody already waits for the redirect" }
            contents.waiter = waiter
            return nil
        }
        if let obstacle { waiter.fail(AuthError(.listener, .redirect, obstacle, outcome: .notSent)) }
    }

    func finish(with page: CompletionPage, _ finisher: CheckedContinuation<Void, Never>) {
        let hasEnded = update { contents in
            contents.routes.finish(with: page)
            // Without a redirect, no browser can ask for the page.
            if contents.routes.phase == .open { contents.isClosing = true }
            if !contents.hasEnded { contents.finishers.append(finisher) }
            return contents.hasEnded
        }
        if hasEnded { finisher.resume() }
    }

    /// Shortens the time for the last page.
    func hurry() { update { $0.isHurried = true } }

    func close() { update { $0.isClosing = true } }
}

/// Used by the thread.
extension ListenerState {
    /// The state that decides the thread's next step.
    struct Orders {
        let isClosing: Bool
        /// Whether a parked redirect can be matched now.
        let canMatch: Bool
        let isFinished: Bool
        let isHurried: Bool
    }

    var orders: Orders {
        contents.withLock { contents in
            Orders(
                isClosing: contents.isClosing, canMatch: contents.waiter != nil || contents.routes.phase != .open,
                isFinished: contents.routes.isFinished, isHurried: contents.isHurried)
        }
    }

    func route(_ head: RequestHead) -> RedirectRoutes.Step { contents.withLock { $0.routes.route(head) } }

    func refuse(_ refusal: RequestHead.Refusal) -> RedirectResponse { contents.withLock { $0.routes.refuse(refusal) } }

    /// Counts a connection that was closed unread.
    func turnAway() { contents.withLock { $0.routes.turnAway() } }

    func ignore(_ head: RequestHead) -> RedirectResponse { contents.withLock { $0.routes.ignore(head) } }

    /// Matches a redirect's parameters and resumes the caller if they match. Returns nil if no caller waits yet. The
    /// closure is the app's code, so it runs outside the lock.
    func match(_ parameters: String, of head: RequestHead) -> RedirectResponse? {
        let (waiter, response) = contents.withLock { ($0.waiter, $0.routes.responseIfUsed(head)) }
        if let response { return response }
        guard let waiter else { return nil }
        guard let deliver = waiter.match(parameters) else { return ignore(head) }
        let sentOn = contents.withLock { contents in
            contents.waiter = nil
            return contents.routes.accept(head)
        }
        deliver()
        return sentOn
    }

    /// Fails a waiting caller and resumes the calls of `finish`, after the sockets are closed.
    func end() {
        let (waiter, finishers) = contents.withLock { contents in
            defer { (contents.waiter, contents.finishers) = (nil, []) }
            (contents.isClosing, contents.hasEnded) = (true, true)
            Glibc.close(wakeUp)
            return (contents.waiter, contents.finishers)
        }
        waiter?.fail(
            AuthError(.listener, .redirect, "the listener was closed before the redirect came", outcome: .notSent))
        for finisher in finishers { finisher.resume() }
    }
}
