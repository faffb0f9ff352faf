/// What is tried to open a URL here, in order, and what is in the way: decided by the surroundings alone.
///
/// | Rung | When |
/// |---|---|
/// | the entries of `$BROWSER` | always, and nothing else then: it is the person's own word. Not those for the terminal |
/// | `wslview` | under WSL: the browser of Windows, where the person is signed in |
/// | `xdg-open`, then `gio open` | with a display; in a Flatpak or a Snap also without, since `xdg-open` is the client of the desktop portal there, and `gio` asks the portal too |
///
/// The openers are left out where the desktop is another user's, and where they would open a browser for the terminal.
package struct BrowserLadder: Sendable, Hashable {
    package private(set) var commands: [BrowserCommand] = []
    package private(set) var obstacles: [BrowserObstacle] = []

    package init(in desktop: DesktopSession) {
        // What may be of use elsewhere too comes first.
        if desktop.isSSHSession { obstacles.append(.sshSession) }
        let named = desktop.environment["BROWSER", default: ""].split(separator: ":")
            .map { BrowserCommand(String($0)) }.filter { !$0.name.isEmpty }
        if named.isEmpty {
            addOpeners(in: desktop)
        } else {
            commands = named.filter { !$0.isForTerminal }
            obstacles += named.filter(\.isForTerminal).map { .textBrowser($0.name) }
        }
        if !commands.isEmpty, desktop.user == 0, !desktop.isWSL { obstacles.append(.root) }
    }

    private mutating func addOpeners(in desktop: DesktopSession) {
        let isWSL = desktop.isWSL
        if isWSL { commands.append(BrowserCommand("wslview")) }
        guard desktop.hasDisplay || desktop.isSandbox else {
            if !isWSL { obstacles.append(.noDisplay) }
            return
        }
        if desktop.isOnAnotherDesktop, !isWSL { return obstacles.append(.anotherUser) }
        if let entry = desktop.defaultBrowser, BrowserCommand.isForTerminal(entry: entry), !desktop.isSandbox {
            return obstacles.append(.textBrowser(entry))
        }
        commands += [.xdgOpen, BrowserCommand("gio open")]
    }
}

extension BrowserCommand {
    /// Without a desktop that it knows, xdg-open goes through a list of its own, which ends in browsers for the terminal.
    fileprivate static let xdgOpen = BrowserCommand(
        "xdg-open",
        environment: [
            "BROWSER": "x-www-browser:firefox:firefox-esr:chromium:chromium-browser:google-chrome:brave-browser:"
                + "microsoft-edge:vivaldi:opera:epiphany:konqueror:falkon"
        ])
}
