internal import AppAuthProtocol
internal import CShims
internal import Glibc
internal import JOSE

/// What the callers and the listener's thread share: the rules, who waits, and how to wake the thread.
final class ListenerState: Sendable {
    /// Somebody who waits for the redirect.
    struct Waiter: Sendable {
        /// Returns nil for parameters that are not the awaited ones, else what hands the result over.
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
    /// Readable when the thread has to look at this state again. Closed when it has ended.
    let wakeUp: Int32

    init(_ routes: RedirectRoutes) throws {
        wakeUp = shims_event()
        guard wakeUp >= 0 else {
            throw AuthError(.unavailable, .redirect, "an event could not be made: \(SystemError.text(-wakeUp))")
        }
        contents = LockedValue(Contents(routes: routes))
    }

    /// Changes the contents and wakes the thread. The descriptor is written to under the lock, since its number may
    /// belong to something else once the thread has ended.
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

/// For the callers.
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
            // Without a redirect there is no browser that could come for the page.
            if contents.routes.phase == .open { contents.isClosing = true }
            if !contents.hasEnded { contents.finishers.append(finisher) }
            return contents.hasEnded
        }
        if hasEnded { finisher.resume() }
    }

    /// Cuts the time for the last page short.
    func hurry() { update { $0.isHurried = true } }

    func close() { update { $0.isClosing = true } }
}

/// For the thread.
extension ListenerState {
    /// What the thread does next.
    struct Orders {
        let isClosing: Bool
        /// A redirect that nobody had asked for can be looked at now.
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

    /// Has the waiter judge a redirect's parameters, outside of the lock since it is the app's code, and hands the first
    /// that it recognises over. Nil if nobody waits yet.
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

    /// The sockets are closed: whoever still waits learns it.
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
