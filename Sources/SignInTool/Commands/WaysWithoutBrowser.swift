internal import AppAuth
internal import Glibc
internal import JOSE

/// How a sign-in goes on where no browser can come back to it: by what is pasted into standard input, or by a code for
/// another device. Pasting is always possible, and said where it is of use.
final class WaysWithoutBrowser: Sendable {
    /// The person has asked for the code.
    struct DeviceWanted: Error {}

    private let console: Console
    private let canPaste: Bool
    private let deviceCommand: String
    private let isDeviceOffered = LockedValue(false)

    /// - Parameter deviceCommand: The command that does the same by a code.
    init(console: Console, canPaste: Bool, deviceCommand: String) {
        (self.console, self.canPaste, self.deviceCommand) = (console, canPaste, deviceCommand)
    }

    /// The lines of standard input. `d` ends them where the code is offered.
    @Sendable func lines() -> AsyncThrowingStream<String, any Error> {
        guard let input = console.input else { return AsyncThrowingStream { $0.finish() } }
        return InputLines.stream(from: input) { [isDeviceOffered] line in
            let isAsked = line == "d" || line == "D"
            if isAsked, isDeviceOffered.withLock({ $0 }) { throw DeviceWanted() }
        }
    }

    func offerPasting() {
        guard let input = console.input, input.isOpen, canPaste else { return }
        let found = "If it ends at a page that cannot be shown, copy the whole address of that page"
        if !input.isTerminal {
            console.say("\(found), and write it to standard input.")
        } else if input.isOurs {
            console.say("\(found), paste it here, where it stays invisible, and press Enter.")
        } else {
            console.say("\(found), bring this job to the foreground, paste it, and press Enter.")
        }
    }

    func offerDevice() {
        if let input = console.input, input.isTerminal, input.isOurs {
            isDeviceOffered.withLock { $0 = true }
            console.say("Or press d and Enter for a code that you enter in a browser on any other device.")
        } else {
            console.say("Or sign in with a code for a browser on any other device:")
            console.say("  \(deviceCommand)")
        }
    }
}

/// The command line of `sign-in device` for what was asked of `sign-in login`.
struct DeviceCommand {
    let line: String

    init(_ login: Login, _ clientID: String) {
        var words = ["sign-in", "device", "--issuer", login.issuer, "--client-id", clientID]
        func add(_ option: String, _ value: String?) { if let value { words += [option, value] } }
        add("--client-secret-file", login.client.secretFile.map(Self.readable))
        add("--client-key", login.client.keyFile)
        add("--client-auth", login.client.method?.rawValue)
        add("--assertion-audience", login.client.audience?.argument)
        add("--scope", login.scope)
        add("--store", login.store?.argument)
        add("--ca-file", login.common.caFile)
        if login.dpop { words.append("--dpop") }
        if login.common.json { words.append("--json") }
        line = words.map(\.quotedForShell).joined(separator: " ")
    }

    /// A pipe has been read: that the person has to name another file is said as in the help.
    private static func readable(_ file: String) -> String {
        var status = stat()
        return stat(file, &status) == 0 && status.st_mode & S_IFMT == S_IFREG ? file : "FILE"
    }
}

extension String {
    /// With a capital letter at its beginning.
    var asSentence: String { prefix(1).uppercased() + dropFirst() }
}
