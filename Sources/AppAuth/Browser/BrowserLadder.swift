/// The commands to open a URL with, in order, and the obstacles. It depends only on the desktop session.
///
/// | Rung | When |
/// |---|---|
/// | the entries of `$BROWSER` | always, and then nothing else is tried. Entries for the terminal are skipped |
/// | `wslview`, then `powershell.exe` | under WSL: the browser of Windows, where the user is signed in |
/// | `flatpak-spawn --host xdg-open` or `distrobox-host-exec xdg-open` | with a display in a container of Toolbx or Distrobox |
/// | `xdg-open`, then `gio open` | with a display; in a Flatpak or Snap also without, since both use the portal there |
///
/// These two rows are omitted if the desktop belongs to another user, except under WSL. They are also omitted if
/// they would open a browser for the terminal, except in a Flatpak or a Snap.
package struct BrowserLadder: Sendable, Hashable {
    package private(set) var commands: [BrowserCommand] = []
    package private(set) var obstacles: [BrowserObstacle] = []
    /// The obstacles that are worth reporting although a browser was started.
    package private(set) var remainingObstacles: [BrowserObstacle] = []

    package init(in desktop: DesktopSession) {
        // The SSH session comes first, since its message also helps with a browser on another machine.
        if desktop.isSSHSession { obstacles.append(.sshSession) }
        let named = BrowserCommand.list(desktop.environment["BROWSER", default: ""])
        if named.isEmpty {
            addOpeners(in: desktop)
        } else {
            commands = named.filter { !$0.isForTerminal }
            obstacles += named.filter(\.isForTerminal).map { .textBrowser($0.name) }
        }
        if !commands.isEmpty, desktop.user == 0, !desktop.isWSL { obstacles.append(.root) }
        // Root can run the program as a user only if there is one: in a container, there usually is none.
        let hasUser = desktop.users.contains { $0 != 0 }
        remainingObstacles = obstacles.filter { $0.kind == .sshSession || $0.kind == .root && hasUser }
    }

    private mutating func addOpeners(in desktop: DesktopSession) {
        let isWSL = desktop.isWSL
        if isWSL { commands += [BrowserCommand("wslview")] + BrowserCommand.powerShell }
        guard desktop.hasDisplay || desktop.isSandbox else {
            if !isWSL { obstacles.append(.noDisplay) }
            return
        }
        if desktop.isOnAnotherDesktop, !isWSL { return obstacles.append(.anotherUser) }
        if let entry = desktop.defaultBrowser, BrowserCommand.isForTerminal(entry: entry), !desktop.isSandbox {
            return obstacles.append(.textBrowser(entry))
        }
        // These have no browser of their own, as a rule, and share the host's network.
        if desktop.has("TOOLBOX_PATH") { commands.append(BrowserCommand("flatpak-spawn --host xdg-open")) }
        if desktop.has("DISTROBOX_ENTER_PATH") { commands.append(BrowserCommand("distrobox-host-exec xdg-open")) }
        commands += [.xdgOpen, BrowserCommand("gio open")]
    }
}

extension BrowserCommand {
    /// If xdg-open does not know the desktop, it tries a list of its own, which ends in browsers for the terminal.
    fileprivate static let xdgOpen = BrowserCommand(
        "xdg-open",
        environment: [
            "BROWSER": "x-www-browser:firefox:firefox-esr:chromium:chromium-browser:google-chrome:brave-browser:"
                + "microsoft-edge:vivaldi:opera:epiphany:konqueror:falkon"
        ])
}
