internal import AppAuthProtocol
internal import CShims
internal import Glibc
internal import JOSE

/// The state shared by the callers and the thread of a ``PrivateUseRedirectListener``.
final class DeliveryState: Sendable {
    private struct Contents {
        var waiter: ListenerState.Waiter?
        var isSpent = false
        var ignored = 0
        var isClosing = false
        var hasEnded = false
    }

    private let uri: PrivateUseURI
    private let contents = LockedValue(Contents())
    /// Readable if the thread must read this state again. It is closed once the thread has ended.
    let wakeUp: Int32

    init(_ uri: PrivateUseURI) throws {
        self.uri = uri
        wakeUp = shims_event()
        guard wakeUp >= 0 else {
            throw AuthError(.unavailable, .redirect, "an event could not be made: \(SystemError.text(-wakeUp))")
        }
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
extension DeliveryState {
    var ignoredRedirects: Int { contents.withLock { $0.ignored } }

    func wait(_ waiter: ListenerState.Waiter) {
        let obstacle: String? = update { contents in
            if contents.isClosing { return "the listener is closed" }
            if contents.isSpent { return "the listener has already received its one redirect" }
            if contents.waiter != nil { return "somebody already waits for the redirect" }
            contents.waiter = waiter
            return nil
        }
        if let obstacle { waiter.fail(AuthError(.listener, .redirect, obstacle, outcome: .notSent)) }
    }

    func close() { update { $0.isClosing = true } }
}

/// Used by the thread.
extension DeliveryState {
    var isClosing: Bool { contents.withLock { $0.isClosing } }
    /// Whether a redirect can be matched now.
    var canMatch: Bool { contents.withLock { $0.waiter != nil || $0.isSpent } }

    /// Counts a delivery that is not the awaited redirect.
    func ignore() { contents.withLock { $0.ignored += 1 } }

    /// Matches a URL and resumes the caller if it matches. Only one URL is taken. The closure is the app's code, so it
    /// runs outside the lock.
    ///
    /// - Returns: Whether the URL was taken, or nil if no caller waits yet.
    func match(_ url: String) -> Bool? {
        let (waiter, isSpent) = contents.withLock { ($0.waiter, $0.isSpent) }
        guard let query = uri.query(of: url), !isSpent else {
            ignore()
            return false
        }
        guard let waiter else { return nil }
        guard let deliver = waiter.match(query) else {
            ignore()
            return false
        }
        contents.withLock { ($0.waiter, $0.isSpent) = (nil, true) }
        deliver()
        return true
    }

    /// Fails a waiting caller, after the socket is closed.
    func end() {
        let waiter = contents.withLock { contents in
            defer { contents.waiter = nil }
            (contents.isClosing, contents.hasEnded) = (true, true)
            Glibc.close(wakeUp)
            return contents.waiter
        }
        waiter?.fail(
            AuthError(.listener, .redirect, "the listener was closed before the redirect came", outcome: .notSent))
    }
}
