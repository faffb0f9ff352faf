internal import AppAuthProtocol
internal import CShims
internal import Glibc

/// A thread of this library. It blocks every signal, so that the app's handlers run on the threads that they expect.
package struct SystemThread: Sendable {
    private let id: pthread_t

    /// Starts a thread, which must be joined or detached once.
    ///
    /// - Parameters:
    ///   - name: The name of the thread.
    ///   - stage: The stage of an error. An error of the stage `store` has the code `store`, others have `unavailable`.
    ///   - location: The store, for messages.
    ///   - body: The work of the thread.
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

    /// Waits until the thread has ended. If it is called on the thread itself, which cannot wait for its own end, it
    /// detaches the thread.
    package func join() {
        if pthread_equal(id, pthread_self()) != 0 { pthread_detach(id) } else { pthread_join(id, nil) }
    }

    /// Detaches the thread, which then ends by itself.
    package func detach() { pthread_detach(id) }

    private final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) { (self.name, self.body) = (name, body) }
    }
}
