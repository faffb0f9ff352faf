internal import AppAuth
internal import AppAuthConcurrency
internal import Glibc

/// A handler that turns termination signals into the cancellation of the work, so that the work can clean up. If the user
/// interrupts again, the process exits at once. Before it exits or stops, the terminal is restored.
struct Interrupts: Sendable {
    /// How long after the first signal another one has no effect: timeout(1) sends each signal twice, and the user does
    /// not know yet what the process is still doing.
    static let grace = Duration.milliseconds(500)

    private struct State {
        var signal: Int32 = 0
        /// When the first signal arrived.
        var first = ContinuousClock.now
        var cancel: (@Sendable () -> Void)?
    }

    private let state = LockedValue(State())
    private let signals: sigset_t
    private let input: StandardInput

    /// Blocks the signals. Must be called before the process has other threads, because they inherit the mask.
    init(_ input: StandardInput) {
        self.input = input
        var signals = sigset_t()
        // nohup ignores SIGHUP for the program, and a shell those of the keyboard for a job in the background.
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP] where signal == SIGTERM || !Self.isIgnored(signal) {
            sigaddset(&signals, signal)
        }
        sigaddset(&signals, Self.work)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        self.signals = signals
    }

    private static func isIgnored(_ signal: Int32) -> Bool {
        var action = sigaction()
        sigaction(signal, nil, &action)
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Waits for signals on the current thread, until the process exits.
    func wait() -> Never {
        var signals = signals
        while true {
            var signal: Int32 = 0
            guard sigwait(&signals, &signal) == 0 else { continue }
            if signal == Self.work {
                guard let work = Self.wanted.withLock({ $0.take() }) else { continue }
                if state.withLock({ $0.signal }) == 0 { work.body() }
                work.ended.resume()
                continue
            }
            if signal == SIGTSTP {
                input.whileRestored(stop)
                continue
            }
            let cancel = state.withLock { state -> (@Sendable () -> Void)? in
                guard state.signal == 0 else {
                    // A second SIGHUP is no request to hurry: when a terminal closes, the kernel sends one to the job, and
                    // so does the shell. The refresh in flight must still be stored.
                    if ContinuousClock.now - state.first >= Self.grace, signal != SIGHUP {
                        input.restore()
                        _exit(signal == SIGINT ? 130 : 1)
                    }
                    return nil
                }
                (state.signal, state.first) = (signal, .now)
                return state.cancel
            }
            cancel?()
        }
    }

    /// The signal with which a task asks for work on the main thread.
    private static let work = SIGUSR1
    private static let wanted = LockedValue<Work?>(nil)

    private struct Work: Sendable {
        let body: @Sendable () -> Void
        let ended: CheckedContinuation<Void, Never>
    }

    /// Does something on the thread that takes all signals, so that none is lost meanwhile. Does nothing if a signal has ended
    /// the command. One task at a time may call this.
    static func onMainThread(_ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { ended in
            wanted.withLock { $0 = Work(body: body, ended: ended) }
            kill(getpid(), work)
        }
    }

    /// Stops the process as the signal's default action would: not if there is no shell to continue it. Returns when
    /// the process continues.
    private func stop() {
        var signals = sigset_t()
        sigaddset(&signals, SIGTSTP)
        raise(SIGTSTP)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// Runs the work until it ends or a signal arrives.
    func run<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let task = Task { try await work() }
        state.withLock { $0.cancel = { task.cancel() } }
        if state.withLock({ $0.signal }) != 0 { task.cancel() }
        return try await task.value
    }

    /// Reports what ended the work, and returns the exit status.
    func status(_ console: Console) -> Int32 {
        switch state.withLock({ $0.signal }) {
        case SIGINT:
            console.fail(code: "interrupted", "interrupted")
            return 130
        default:
            console.fail(code: "terminated", "terminated")
            return 1
        }
    }
}
