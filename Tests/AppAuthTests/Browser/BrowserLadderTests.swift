import AppAuth
import Testing

/// The openers and the obstacles in each environment of a program. No process is started.
struct BrowserLadderTests {
    private typealias Kind = BrowserObstacle.Kind

    private func expect(
        _ desktop: DesktopSession, _ programs: [String], _ obstacles: [BrowserObstacle.Kind] = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let ladder = BrowserLadder(in: desktop)
        #expect(ladder.commands.map(\.name) == programs, sourceLocation: sourceLocation)
        #expect(ladder.obstacles.map(\.kind) == obstacles, sourceLocation: sourceLocation)
    }

    @Test(arguments: [
        ("firefox", ["firefox"]), ("a %s:b --x:c", ["a", "b", "c"]), (":a: :", ["a"]), ("/usr/bin/x y", ["/usr/bin/x"]),
        ("'/opt/a:b' %s:c", ["/opt/a:b", "c"]), (#""/opt/my browser" --new:d"#, ["/opt/my browser", "d"]),
        ("/home/o'neil/x:'", ["/home/o'neil/x", "'"]),
    ])
    func `BROWSER is a list, and nothing else is tried`(_ value: String, _ programs: [String]) {
        expect(DesktopSession(environment: ["BROWSER": value]), programs)
        expect(DesktopSession(environment: ["BROWSER": value, "DISPLAY": ":0"]), programs)
        expect(DesktopSession(environment: ["BROWSER": value, "WSL_DISTRO_NAME": "Debian"]), programs)
        // It is the user's own word.
        expect(DesktopSession(environment: ["BROWSER": value, "SUDO_UID": "1000"], user: 0), programs, [.root])
    }

    @Test(arguments: ["", " :", nil])
    func `the desktop's openers replace a BROWSER that names nothing`(_ value: String?) {
        for display in ["DISPLAY", "WAYLAND_DISPLAY"] {
            expect(DesktopSession(environment: ["BROWSER": value ?? "", display: ":0"]), ["xdg-open", "gio"])
        }
    }

    @Test(arguments: [("TOOLBOX_PATH", "flatpak-spawn"), ("DISTROBOX_ENTER_PATH", "distrobox-host-exec")])
    func `in a Toolbx or Distrobox container, the browser of the host is opened`(variable: String, program: String) {
        let display = [variable: "/usr/bin/x", "DISPLAY": ":0"]
        expect(DesktopSession(environment: display), [program, "xdg-open", "gio"])
        expect(DesktopSession(environment: [variable: "/usr/bin/x"]), [], [.noDisplay])
        let sudo = display.merging(["SUDO_UID": "1000"]) { $1 }
        expect(DesktopSession(environment: sudo, user: 0), [], [.anotherUser])
    }

    @Test(arguments: [[:], ["DISPLAY": ""], ["DISPLAY": "", "WAYLAND_DISPLAY": ""]])
    func `without a display no opener is started`(_ environment: [String: String]) {
        expect(DesktopSession(environment: environment), [], [.noDisplay])
    }

    @Test(arguments: ["SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY"])
    func `an SSH session is reported, and a forwarded display is used`(_ variable: String) {
        expect(DesktopSession(environment: [variable: "x"]), [], [.sshSession, .noDisplay])
        expect(
            DesktopSession(environment: [variable: "x", "DISPLAY": "localhost:10.0"]), ["xdg-open", "gio"],
            [.sshSession])
        expect(DesktopSession(environment: [variable: "x", "BROWSER": "firefox"]), ["firefox"], [.sshSession])
        expect(DesktopSession(environment: [variable: ""]), [], [.noDisplay])
    }

    @Test func `no opener is started on another user's desktop`() {
        let display = ["DISPLAY": ":0"]
        for caller in ["SUDO_UID", "PKEXEC_UID"] {
            expect(DesktopSession(environment: display.merging([caller: "1000"]) { $1 }, user: 0), [], [.anotherUser])
            expect(
                DesktopSession(environment: display.merging([caller: "1000"]) { $1 }, user: 1001), [], [.anotherUser])
            expect(DesktopSession(environment: display.merging([caller: "1000"]) { $1 }), ["xdg-open", "gio"])
        }
        // su says nothing, but the files of the session are another's.
        expect(DesktopSession(environment: display, user: 0, desktopOwner: 1000), [], [.anotherUser])
        expect(DesktopSession(environment: display, user: 1000, desktopOwner: 1000), ["xdg-open", "gio"])
        // A server has no desktop.
        expect(DesktopSession(environment: ["SUDO_UID": "1000"], user: 0), [], [.noDisplay])
    }

    @Test func `root on a desktop of its own is reported`() {
        expect(DesktopSession(environment: ["DISPLAY": ":0"], user: 0), ["xdg-open", "gio"], [.root])
        expect(DesktopSession(environment: ["DISPLAY": ":0"], user: 0, desktopOwner: 0), ["xdg-open", "gio"], [.root])
    }

    @Test func `under WSL the browser of Windows comes first, for every user`() {
        let windows = [
            "wslview", "powershell.exe", "/mnt/c/Windows/System32/WindowsPowerShell/v1.0/powershell.exe",
        ]
        for variable in ["WSL_DISTRO_NAME", "WSL_INTEROP"] {
            expect(DesktopSession(environment: [variable: "x"]), windows)
            expect(DesktopSession(environment: [variable: "x"], user: 0), windows)
            expect(DesktopSession(environment: [variable: "x", "DISPLAY": ":0"]), windows + ["xdg-open", "gio"])
        }
        expect(DesktopSession(environment: [:], hasWindowsKernel: true), windows)
        expect(DesktopSession(environment: ["SSH_TTY": "x"], hasWindowsKernel: true), windows, [.sshSession])
    }

    @Test func `in a Flatpak or a Snap xdg-open asks the portal, which needs no display here`() {
        expect(DesktopSession(environment: [:], isFlatpak: true), ["xdg-open", "gio"])
        expect(DesktopSession(environment: ["SNAP": "/snap/app/1"]), ["xdg-open", "gio"])
        // The default inside does not matter: the portal asks outside.
        expect(DesktopSession(environment: [:], isFlatpak: true, defaultBrowser: "w3m.desktop"), ["xdg-open", "gio"])
    }

    @Test(arguments: [
        "w3m", "lynx", "links", "links2", "elinks", "www-browser", "/usr/bin/w3m", "lynx -accept_all_cookies",
    ])
    func `a browser for the terminal is passed over`(_ entry: String) {
        let name = String(entry.split(separator: " ")[0])
        expect(DesktopSession(environment: ["BROWSER": entry, "DISPLAY": ":0"]), [], [.textBrowser])
        expect(DesktopSession(environment: ["BROWSER": "\(entry):firefox"]), ["firefox"], [.textBrowser])
        let ladder = BrowserLadder(in: DesktopSession(environment: ["BROWSER": entry]))
        #expect(ladder.obstacles.first?.message.hasPrefix("\(name) is a browser for the terminal") == true)
    }

    @Test(arguments: ["links -g", "links2 -g %s", "firefox", "w3m-in-a-window", "sensible-browser", "links-of-mine"])
    func `one that has a window is not`(_ entry: String) {
        expect(DesktopSession(environment: ["BROWSER": entry]), [String(entry.split(separator: " ")[0])])
    }

    @Test(arguments: [
        ("w3m.desktop", false), ("lynx.desktop", false), ("elinks.desktop", false), ("links2.desktop", true),
        ("firefox.desktop", true), ("org.gnome.Epiphany.desktop", true),
    ])
    func `no opener is started for a default browser for the terminal`(_ entry: String, _ isOpened: Bool) {
        expect(
            DesktopSession(environment: ["DISPLAY": ":0"], defaultBrowser: entry), isOpened ? ["xdg-open", "gio"] : [],
            isOpened ? [] : [.textBrowser])
    }

    @Test func `every obstacle advises the user, in one line`() {
        let all = [
            DesktopSession(environment: ["SSH_TTY": "x", "DISPLAY": ":0", "SUDO_UID": "7"]),
            DesktopSession(environment: [:]),
            DesktopSession(environment: ["BROWSER": "w3m:firefox"], user: 0),
        ].flatMap { BrowserLadder(in: $0).obstacles }
        #expect(Set(all.map(\.kind)) == [.sshSession, .anotherUser, .noDisplay, .textBrowser, .root])
        for obstacle in all {
            #expect(!obstacle.message.contains("\n") && !obstacle.message.hasSuffix("."))
        }
    }
}
