internal import AppAuth
internal import AppAuthConcurrency
internal import Glibc
internal import JOSE

/// Tells the user what happened: on standard error, by the desktop's notifications, and by the command of `--exec`.
final class WatchNotifier: Sendable {
    private let command: String?
    private let console: Console
    /// The processes that show a notification and wait for its button.
    private let shown = LockedValue<[Profile: WatchChild]>([:])
    private let running = LockedValue(0)
    private let whenQuiet = LockedValue<(@Sendable () -> Void)?>(nil)

    /// Has this done when the last program has ended.
    func onQuiet(_ body: @escaping @Sendable () -> Void) { whenQuiet.withLock { $0 = body } }

    private func end() {
        let isLast = running.withLock { running in
            running -= 1
            return running == 0
        }
        if isLast { whenQuiet.withLock { $0 }?() }
    }

    /// Whether no program runs that this one has started.
    var isQuiet: Bool { running.withLock { $0 } == 0 }

    init(command: String?, _ console: Console) { (self.command, self.console) = (command, console) }

    func send(_ event: WatchEvent) {
        let remedy = event.needsSignIn ? " Sign in with: \(event.signIn.shellLine)" : ""
        console.say("\(event.title). \(event.text)\(remedy)")
        if let command {
            let input = Array((event.json.serialized() + "\n").utf8)
            run(
                ["/bin/sh", "-c", command], "the command of --exec", input: input,
                then: { output, _ in Console.write(output, to: .error) })
        }
        if event.needsSignIn { notify(event) }
    }

    /// Removes the notification about a session. If it is shown, notify-send closes it at SIGINT.
    func withdraw(_ profile: Profile) { shown.withLock { $0.removeValue(forKey: profile) }?.interrupt() }

    private func notify(_ event: WatchEvent) {
        withdraw(event.profile)
        // Some servers of notifications read HTML in the text, and others, such as the portal of a sandbox, show it as it is:
        // no escape suits both.
        let text = event.text.replacing { $0 == "&" ? "＆" : $0 == "<" ? "‹" : nil }
        // Without a desktop, it writes several lines to standard error, of which the last says why.
        let name = "notify-send"
        let words = [
            "/bin/sh", "-c", #"exec notify-send "$@" 2>&1"#, name, "--app-name=sign-in", "--icon=dialog-password",
        ]
        run(words + ["--action=sign-in=Sign in", event.title, text], name, isOptional: true) { [self] child in
            shown.withLock { $0[event.profile] = child }
        } then: { [self] output, status in
            if output.hasSuffix("sign-in\n") { return signIn(event) }
            // Before libnotify 0.8, it has no buttons.
            guard [1, 126, 127].contains(status) else { return }
            run(
                words + [event.title, text], name, isOptional: true,
                then: { [console] output, status in
                    let reason = output.split(separator: "\n").last.map { ": \(String($0).foundSentence)" } ?? ""
                    if status != 0 { console.sayOnce("sign-in: \(name) ended with status \(status)\(reason)") }
                })
        }
    }

    private func signIn(_ event: WatchEvent) {
        // In a service, the browser would run in its sandbox, and end with it. So systemd starts it, as it has started this.
        let service = ["systemd-run", "--user", "--quiet", "--collect", "--property=KillMode=process", "--", "sign-in"]
        let program = variable("INVOCATION_ID") == nil ? [WatchRest.program] : service
        run(program + event.signIn.words, "the sign-in for \(event.profile.name)")
    }

    /// Starts a program on a thread of its own, which waits for its end, and reports a failure.
    private func run(
        _ words: [String], _ name: String, input: [UInt8] = [], isOptional: Bool = false,
        began: (@Sendable (WatchChild) -> Void)? = nil,
        then: @escaping @Sendable (_ output: String, _ status: Int32) -> Void = { _, _ in }
    ) {
        let console = console
        running.withLock { $0 += 1 }
        do {
            try SystemThread(named: "watch-child", for: .configuration) { [self] in
                defer { end() }
                do throws(WatchChild.Failure) {
                    let child = try WatchChild(words)
                    began?(child)
                    let (output, status) = child.outcome(of: input)
                    then(output, status)
                    if status != 0, !isOptional { console.note("\(name) ended with status \(status)") }
                } catch {
                    console.sayOnce("sign-in: \(name) could not be started: \(SystemError.text(error.number))")
                }
            }.detach()
        } catch {
            end()
            console.note((error as? AuthError)?.message ?? "\(error)")
        }
    }
}
