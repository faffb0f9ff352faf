internal import AppAuthCore
internal import CLibcurl
internal import CShims
internal import Glibc
internal import JOSE

/// A thread that runs all transfers of a transport. It sleeps in `poll` while there is nothing to do, and ends when the
/// worker is released and the last transfer is over.
final class CurlWorker: Sendable {
    private let mailbox: CurlMailbox

    /// Starts the thread.
    ///
    /// - Throws: ``AuthError`` with the code `unavailable` if the system gives no thread.
    init(_ library: CurlLibrary, _ options: CurlOptions) throws(AuthError) {
        guard let loop = CurlLoop(library, options) else {
            throw AuthError(
                .unavailable, .configuration, "libcurl could not be set up: out of memory", outcome: .notSent)
        }
        mailbox = loop.mailbox
        let context = Unmanaged.passRetained(loop)
        let problem = CurlWorker.startThread(context.toOpaque()) { context in
            guard let context else { return nil }
            Unmanaged<CurlLoop>.fromOpaque(context).takeRetainedValue().run()
            return nil
        }
        guard problem == 0 else {
            context.release()
            throw AuthError(
                .unavailable, .configuration, "no thread could be started (error \(problem))", outcome: .notSent,
                isTemporary: true)
        }
    }

    deinit { mailbox.post { $0.isClosing = true } }

    /// Runs an exchange to its end, or until the task is cancelled.
    func perform(_ exchange: HTTPExchange) async throws -> HTTPAnswer {
        let transfer = try CurlTransfer(exchange)
        try Task.checkCancellation()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                transfer.continuation = continuation
                mailbox.post { $0.submitted.append(transfer) }
            }
        } onCancel: {
            // May come before the submission: the loop then finds the transfer cancelled when it gets it.
            mailbox.post { $0.cancelled.append(transfer) }
        }
    }

    /// Starts a detached thread on which no signal handler runs. 0, or an error number.
    private static func startThread(
        _ context: UnsafeMutableRawPointer,
        _ body: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
    ) -> CInt {
        var (all, before) = (sigset_t(), sigset_t())
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        var thread = pthread_t()
        let problem = pthread_create(&thread, nil, body, context)
        if problem == 0 { pthread_detach(thread) }
        return problem
    }
}

/// What callers ask of the loop, from any thread.
final class CurlMailbox: Sendable {
    struct Contents {
        var submitted: [CurlTransfer] = []
        var cancelled: [CurlTransfer] = []
        var isClosing = false
    }

    private struct State: @unchecked Sendable {
        var contents = Contents()
        /// Nil once the loop has ended, which may be before the last cancellation comes.
        var multi: UnsafeMutableRawPointer?
    }

    private let state: Guarded<State>
    private let library: CurlLibrary

    init(_ library: CurlLibrary, multi: UnsafeMutableRawPointer) {
        self.library = library
        state = Guarded(State(multi: multi))
    }

    /// Leaves something for the loop and wakes it.
    func post(_ change: (inout Contents) -> Void) {
        state.withLock { state in
            guard let multi = state.multi else { return }
            change(&state.contents)
            // Under the lock, so that the multi handle is still there.
            _ = library.curl.pointee.multi_wakeup(multi)
        }
    }

    /// Hands over what was left.
    func take() -> Contents {
        state.withLock { state in
            defer { state.contents = Contents(isClosing: state.contents.isClosing) }
            return state.contents
        }
    }

    /// Takes nothing more.
    func close() { state.withLock { $0.multi = nil } }
}
