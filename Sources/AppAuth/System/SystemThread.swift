internal import AppAuthProtocol
internal import CShims
internal import Glibc

/// A thread of our own. Every signal is blocked on it, so that the app's handlers keep running where they did.
package struct SystemThread: Sendable {
    private let id: pthread_t

    /// Starts a thread that has to be joined once.
    ///
    /// - Parameters:
    ///   - stage: What it is needed for, for errors: a store's has a code of its own.
    ///   - place: The store.
    package init(
        named name: String, for stage: AuthError.Stage, of location: String? = nil,
        _ body: @escaping @Sendable () -> Void
    ) throws {
        let start = Unmanaged.passRetained(Start(name: name, body: body))
        var everySignal = sigset_t()
        var former = sigset_t()
        sigfillset(&everySignal)
        pthread_sigmask(SIG_SETMASK, &everySignal, &former)
        defer { pthread_sigmask(SIG_SETMASK, &former, nil) }

        var id = pthread_t()
        let error = pthread_create(
            &id, nil,
            { context in
                guard let context else { return nil }
                let start = Unmanaged<Start>.fromOpaque(context).takeRetainedValue()
                shims_name_thread(start.name)
                start.body()
                return nil
            }, start.toOpaque())
        guard error == 0 else {
            start.release()
            throw AuthError(
                stage == .store ? .store : .unavailable, stage,
                "\(location.map { "\($0) cannot be used: " } ?? "")a thread could not be started: \(SystemError.text(error))",
                outcome: .notSent, isTemporary: true)
        }
        self.id = id
    }

    /// Waits until the thread has ended. On the thread itself, which cannot wait for its own end, it lets go of it.
    package func join() {
        if pthread_equal(id, pthread_self()) != 0 { pthread_detach(id) } else { pthread_join(id, nil) }
    }

    /// Lets the thread end by itself.
    package func detach() { pthread_detach(id) }

    private final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) { (self.name, self.body) = (name, body) }
    }
}

/// The system's words for an error number.
enum SystemError {
    static func text(_ error: Int32) -> String { String(cString: strerror(error)) }
}
