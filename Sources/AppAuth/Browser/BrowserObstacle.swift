/// What stands between the person and a browser here, or between that browser and this program, or what protects them
/// less than it should: found before anything is started, so that it can be said.
public struct BrowserObstacle: Sendable, Hashable {
    /// Which one.
    public let kind: Kind
    /// What was found and what the person can do, in one line without a full stop.
    public let message: String

    /// A kind of obstacle. Open, so that new kinds break nobody.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        /// For logs.
        public let rawValue: String
        /// Makes a kind.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// There is no graphical session: no opener is started.
        public static let noDisplay = Kind(rawValue: "no_display")
        /// The person sits at another machine. What is opened here comes back to here alone; a browser at their place
        /// comes back to theirs.
        public static let sshSession = Kind(rawValue: "ssh_session")
        /// The program runs as somebody else than the person whose desktop this is (sudo, pkexec, su): no opener is
        /// started, since the browser would be another person's.
        public static let anotherUser = Kind(rawValue: "another_user")
        /// The program runs as root, and so does a browser that it starts; some refuse that.
        public static let root = Kind(rawValue: "root")
        /// A browser for the terminal, which would take it away from the program or, on its own, show nothing: it is
        /// not started.
        public static let textBrowser = Kind(rawValue: "text_browser")
        /// Programs of other users on this machine can connect to the listener too, since
        /// ``LoopbackRedirectListener/SameUserCheck/automatic`` is off here.
        public static let othersMayConnect = Kind(rawValue: "others_may_connect")
    }
}

extension BrowserObstacle {
    static let noDisplay = BrowserObstacle(
        kind: .noDisplay,
        message: "there is no display here (DISPLAY and WAYLAND_DISPLAY are not set); BROWSER may name a program that "
            + "needs none")
    static let sshSession = BrowserObstacle(
        kind: .sshSession,
        message:
            "this is an SSH session: a browser on another machine does not come back to this one by itself, unless "
            + "the port is forwarded")
    static let anotherUser = BrowserObstacle(
        kind: .anotherUser,
        message: "the desktop is another user's than the program (sudo, su), so that the browser would be too; run it "
            + "as yourself, or name a browser in BROWSER")
    static let root = BrowserObstacle(
        kind: .root, message: "the program runs as root, and some browsers refuse to; better run it as yourself")

    static func othersMayConnect(_ reason: String) -> BrowserObstacle {
        BrowserObstacle(
            kind: .othersMayConnect,
            message: "other users of this machine are not kept away from the browser's redirect: \(reason)")
    }

    static func textBrowser(_ name: String) -> BrowserObstacle {
        BrowserObstacle(
            kind: .textBrowser,
            message: "\(name) is a browser for the terminal, which cannot be shared with it; name another in BROWSER")
    }

    /// Whether it is worth saying where a browser was started all the same.
    var remains: Bool { kind == .sshSession || kind == .root }
}
