internal import AppAuth
internal import AppAuthConcurrency
internal import JOSE

/// The alternatives if no browser can come back to the sign-in: pasting a URL into standard input, or a code for
/// another device. Pasting always works; it is offered where it is useful.
final class WaysWithoutBrowser: Sendable {
    /// Thrown if the user asks for the code.
    struct DeviceWanted: Error {}

    private let console: Console
    private let canPaste: Bool
    private let deviceCommand: String?
    private let isDeviceOffered = LockedValue(false)

    /// - Parameter deviceCommand: The command line that signs in with a code; nil if no code can be used.
    init(console: Console, canPaste: Bool, deviceCommand: String?) {
        (self.console, self.canPaste, self.deviceCommand) = (console, canPaste, deviceCommand)
    }

    /// Returns the lines of standard input. If the code is offered, the line `d` ends them.
    @Sendable func lines() -> AsyncThrowingStream<String, any Error> {
        guard let input = console.input else { return AsyncThrowingStream { $0.finish() } }
        return InputLines.stream(from: input) { [isDeviceOffered] line in
            let isAsked = line == "d" || line == "D"
            if isAsked, isDeviceOffered.withLock({ $0 }) { throw DeviceWanted() }
        }
    }

    /// Offers pasting, unless that was done.
    func offerPasting() {
        guard let input = console.input, input.isOpen, canPaste else { return }
        let found = "If the browser ends at a page that does not load, copy the whole address of that page"
        if !input.isTerminal {
            console.sayOnce("\(found) and write it to standard input.")
        } else if input.isOurs {
            console.sayOnce("\(found), paste it here (it stays hidden) and press Enter.")
        } else {
            console.sayOnce("\(found), bring this job to the foreground, paste it and press Enter.")
        }
    }

    func offerDevice() {
        guard let deviceCommand else { return }
        if let input = console.input, input.isTerminal, input.isOurs {
            // What was typed before the offer does not accept it.
            input.discardQueued()
            isDeviceOffered.withLock { $0 = true }
            console.say("Or press d and Enter for a code that you enter in a browser on any other device.")
        } else {
            console.say("Or sign in with a code for a browser on any other device:")
            console.say("  \(deviceCommand)")
        }
    }
}
