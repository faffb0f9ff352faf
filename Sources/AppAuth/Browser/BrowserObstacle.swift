/// An obstacle between the user and a browser, or between that browser and this program, or a weakness in the user's
/// protection. Most are found before a browser is started, the others when its opener fails or a program connects.
public struct BrowserObstacle: Sendable, Hashable {
    /// The kind of obstacle.
    public let kind: Kind
    /// The finding and the user's remedy, in one line without a full stop.
    public let message: String

    /// A kind of obstacle. New kinds may be added without breaking source code.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        /// The name for logs.
        public let rawValue: String
        /// Creates a kind.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// There is no graphical session. No opener is started.
        public static let noDisplay = Kind(rawValue: "no_display")
        /// The user is at another machine. The redirect of a browser on this machine reaches only this machine, and the
        /// redirect of a browser on the user's machine reaches only that one.
        public static let sshSession = Kind(rawValue: "ssh_session")
        /// The desktop belongs to another user than the program (sudo, pkexec, su). No opener is started, since it
        /// would open that user's browser.
        public static let anotherUser = Kind(rawValue: "another_user")
        /// The program runs as root, and so does a browser that it starts. Some browsers refuse to.
        public static let root = Kind(rawValue: "root")
        /// The browser is one for the terminal. It is not started, since it would take the terminal from the program
        /// or, without one, show nothing.
        public static let textBrowser = Kind(rawValue: "text_browser")
        /// An opener failed after it was started, so the next one is tried.
        public static let openerFailed = Kind(rawValue: "opener_failed")
        /// A program of another user on this machine has connected to the listener, and was refused. It may be the browser.
        public static let userRefused = Kind(rawValue: "user_refused")
        /// A browser has asked the listener for https, which a redirect URI on loopback does not have (RFC 8252 §7.3). Settings,
        /// extensions and stored policies (HSTS) change the address so.
        public static let httpsRequested = Kind(rawValue: "https_requested")
        /// A browser has refused the certificate of an https listener.
        public static let certificateRefused = Kind(rawValue: "certificate_refused")
        /// Other users of this machine can read the private key of an https listener.
        public static let keyReadByOthers = Kind(rawValue: "key_read_by_others")
        /// A browser has come to the listener under another loopback name or port than that of the redirect URI.
        public static let otherAddress = Kind(rawValue: "other_address")
        /// Programs of other users on this machine can connect to the listener, since
        /// ``LoopbackRedirectListener/SameUserCheck/automatic`` is off here. Reported if a browser was started: they can
        /// read the one-time URL in its arguments.
        public static let othersMayConnect = Kind(rawValue: "others_may_connect")
    }
}

extension BrowserObstacle {
    static let noDisplay = BrowserObstacle(
        kind: .noDisplay,
        message: "there is no display here (DISPLAY and WAYLAND_DISPLAY are not set): set BROWSER to a program "
            + "that needs none")
    static let sshSession = BrowserObstacle(
        kind: .sshSession,
        message:
            "this is an SSH session: a browser on another computer cannot return to this one unless its port is "
            + "forwarded")
    static let anotherUser = BrowserObstacle(
        kind: .anotherUser,
        message: "this program runs as another user than the desktop. Run it without sudo, or set BROWSER")
    static let root = BrowserObstacle(
        kind: .root, message: "this program runs as root, which some browsers refuse: run it as yourself")

    static func othersMayConnect(_ reason: String) -> BrowserObstacle {
        BrowserObstacle(
            kind: .othersMayConnect,
            message: "other users of this computer can connect to the redirect listener: \(reason). "
                + "If only you use this computer, ignore this warning")
    }

    static let refusedUser = BrowserObstacle(
        kind: .userRefused,
        message:
            "a program of another user of this computer connected, and was refused. If that is your browser, start "
            + "this program as its user")

    static let httpsRequested = BrowserObstacle(
        kind: .httpsRequested,
        message:
            "a browser asked for https, but the address it must return to begins with http: change that in its address "
            + "bar, or turn off the setting or the extension that wants https everywhere")

    static let certificateRefused = BrowserObstacle(
        kind: .certificateRefused,
        message:
            "a browser refused the certificate of the address it must return to: let it trust the authority "
            + "('mkcert -install' for one of mkcert’s; a browser in a Snap or Flatpak has a list of its own)")

    static func keyReadByOthers(_ file: String) -> BrowserObstacle {
        BrowserObstacle(
            kind: .keyReadByOthers,
            message: "other users of this computer can read the private key of the redirect address: "
                + ["chmod", "go-rwx", file].shellLine)
    }

    static func otherAddress(_ found: String, insteadOf expected: String) -> BrowserObstacle {
        BrowserObstacle(
            kind: .otherAddress,
            message:
                "a browser came to \(found) instead of \(expected): the provider’s page or a forwarded port has changed "
                + "the address")
    }

    static func openerFailed(_ failure: String) -> BrowserObstacle {
        BrowserObstacle(
            kind: .openerFailed, message: "an opener failed after its start, so the next one is tried: \(failure)")
    }

    static func textBrowser(_ name: String) -> BrowserObstacle {
        BrowserObstacle(
            kind: .textBrowser,
            message: "\(name) is a browser for the terminal, which cannot be started here: set BROWSER to another one")
    }
}
