import AppAuth
import FoundationEssentials
import Glibc
import Testing

/// Each rung with a real program of its name, in processes of their own, since the environment is changed.
@Suite(.timeLimit(.minutes(5)))
struct OpenerTests {
    @Test func `with a display xdg-open gets the URL, and a list without browsers for the terminal`() async throws {
        await #expect(processExitsWith: .success) {
            let openers = try OpenerFolder()
            for name in ["xdg-open", "gio", "wslview", "w3m"] { try openers.addRecording(name) }
            let opened = try await Browser(in: { DesktopSession(environment: ["DISPLAY": ":0"]) }).open(
                "https://a.example/?x=%20")
            try #require(opened.isEmpty)
            let arguments = try await openers.record(of: "xdg-open").arguments
            try #require(arguments.dropFirst() == ["xdg-open", "https://a.example/?x=%20"])
            let list = arguments[0].split(separator: ":")
            try #require(list.contains("firefox") && list.contains("chromium"))
            try #require(Set(list).isDisjoint(with: ["w3m", "lynx", "links", "links2", "elinks", "www-browser"]))
        }
    }

    @Test func `gio is the next where xdg-open fails at once`() async throws {
        await #expect(processExitsWith: .success) {
            let openers = try OpenerFolder()
            try openers.addFailing("xdg-open")
            for name in ["gio", "wslview"] { try openers.addRecording(name) }
            unsetenv("BROWSER")
            try await Browser(in: { DesktopSession(environment: ["DISPLAY": ":0"]) }).open("https://a.example/")
            try #require(try await openers.record(of: "gio").arguments == ["", "gio", "open", "https://a.example/"])
        }
    }

    @Test func `gio is the next where xdg-open is missing`() async throws {
        await #expect(processExitsWith: .success) {
            let openers = try OpenerFolder()
            try openers.addRecording("gio")
            try await Browser(in: { DesktopSession(environment: ["WAYLAND_DISPLAY": "wayland-0"]) }).open(
                "https://a.example/")
            try #require(try await openers.record(of: "gio").arguments.dropFirst(2) == ["open", "https://a.example/"])
        }
    }

    @Test func `wslview is the first under WSL`() async throws {
        await #expect(processExitsWith: .success) {
            let openers = try OpenerFolder()
            for name in ["xdg-open", "gio", "wslview"] { try openers.addRecording(name) }
            let desktop = DesktopSession(environment: ["DISPLAY": ":0"], hasWindowsKernel: true)
            try await Browser(in: { desktop }).open("https://a.example/")
            try #require(
                try await openers.record(of: "wslview").arguments.dropFirst(1) == ["wslview", "https://a.example/"])
        }
    }

    @Test func `without wslview, PowerShell gets a script that nothing can take for something else`() async throws {
        await #expect(processExitsWith: .success) {
            let openers = try OpenerFolder()
            try openers.addRecording("powershell.exe")
            try await Browser(in: { DesktopSession(environment: [:], hasWindowsKernel: true) }).open(
                "https://a.example/?x='y")
            let arguments = try await openers.record(of: "powershell.exe").arguments
            let options = ["-NoLogo", "-NoProfile", "-NonInteractive", "-EncodedCommand"]
            try #require(arguments.dropFirst(2).dropLast() == options[...], "\(arguments)")
            let script = try #require(arguments.last.flatMap { Data(base64Encoded: $0) })
            let text = String(
                decoding: script.enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element), as: UTF8.self)
            try #require(text == "Start-Process 'https://a.example/?x=%27y'", "\(text)")
        }
    }

    @Test func `the next is started where an opener fails later, until the browser is back`() async throws {
        await #expect(processExitsWith: .success) {
            let openers = try OpenerFolder()
            let gate = openers.path + "/gate"
            try #require(mkfifo(gate, 0o600) == 0)
            try openers.addFailing("xdg-open", after: gate)
            try openers.addFailing("gio")
            let (results, continuation) = AsyncStream.makeStream(of: Result<BrowserObstacle, AuthError>.self)
            let watch = BrowserWatch { continuation.yield($0) }
            let browser = Browser(in: { DesktopSession(environment: ["DISPLAY": ":0"]) })
            _ = try await browser.open("https://a.example/", watch)
            // Only now it fails.
            close(open(gate, O_WRONLY))
            var reports = results.makeAsyncIterator()
            guard case .success(let first)? = await reports.next(), first.kind == .openerFailed else { exit(1) }
            guard case .failure(let error)? = await reports.next() else { exit(1) }
            try #require(error.message == "tried xdg-open (exit status 3), gio (exit status 3)", "\(error)")

            try openers.addRecording("gio")
            _ = try await browser.open("https://b.example/", watch)
            close(open(gate, O_WRONLY))
            try #require(try await openers.record(of: "gio").arguments.last == "https://b.example/")
            guard case .success(let obstacle)? = await reports.next() else { exit(1) }
            try #require(
                obstacle.kind == .openerFailed && obstacle.message.hasSuffix(": xdg-open (exit status 3)"))
        }
    }

    @Test func `the error lists each rung with the reason, and the obstacles`() async throws {
        await #expect(processExitsWith: .success) {
            let openers = try OpenerFolder()
            try openers.addFailing("gio", status: 2)
            let desktop = DesktopSession(
                environment: ["DISPLAY": ":0", "SSH_TTY": "/dev/pts/1"], hasWindowsKernel: true)
            do {
                try await Browser(in: { desktop }).open("https://a.example/")
                exit(1)
            } catch let error as AuthError {
                try #require(error.code == .browser)
                let tried =
                    "tried wslview (No such file or directory), powershell.exe (No such file or directory), "
                    + "/mnt/c/Windows/System32/WindowsPowerShell/v1.0/powershell.exe (No such file or directory), xdg-open "
                    + "(No such file or directory), gio (exit status 2); this is an SSH session: "
                try #require(error.message.hasPrefix(tried))
            }
        }
    }

    @Test func `nothing is started where there is no display, and the error says so`() async throws {
        await #expect(processExitsWith: .success) {
            let openers = try OpenerFolder()
            // It would be recorded as a failure of another kind.
            for name in ["xdg-open", "gio", "wslview"] { try openers.addFailing(name) }
            do {
                try await Browser(in: { DesktopSession(environment: [:]) }).open("https://a.example/")
                exit(1)
            } catch let error as AuthError {
                try #require(error.code == .browser && error.message.hasPrefix("there is no display here (DISPLAY"))
            }
        }
    }

    @Test func `the possible obstacles of a browser that was started are returned`() async throws {
        await #expect(processExitsWith: .success) {
            let openers = try OpenerFolder()
            try openers.addRecording("xdg-open")
            // Root can run the program as another user only if there is one: in a container, there usually is none.
            for (loginUser, kinds) in [(1000, [.sshSession, .root]), (0, [.sshSession]), (nil, [.sshSession])]
                as [(UInt32?, [BrowserObstacle.Kind])]
            {
                let desktop = DesktopSession(
                    environment: ["DISPLAY": ":10", "SSH_TTY": "/dev/pts/1"], user: 0, loginUser: loginUser)
                let obstacles = try await Browser(in: { desktop }).open("https://a.example/")
                try #require(obstacles.map(\.kind) == kinds)
                _ = try await openers.record(of: "xdg-open")
            }
        }
    }

    @Test func `this process's desktop is read when a URL is opened`() async throws {
        await #expect(processExitsWith: .success) {
            let openers = try OpenerFolder()
            for name in ["xdg-open", "chosen"] { try openers.addRecording(name) }
            let browser = Browser.system
            for name in [
                "BROWSER", "SUDO_UID", "PKEXEC_UID", "WSL_DISTRO_NAME", "WSL_INTEROP", "XDG_RUNTIME_DIR",
                "TOOLBOX_PATH",
                "DISTROBOX_ENTER_PATH",
            ] { unsetenv(name) }
            setenv("XAUTHORITY", openers.path, 1)
            setenv("XDG_CONFIG_HOME", openers.path, 1)
            setenv("DISPLAY", ":0", 1)
            try await browser.open("https://a.example/")
            try #require(try await openers.record(of: "xdg-open").arguments.last == "https://a.example/")

            // Now the user has chosen a browser for the terminal.
            let list = "[Added Associations]\nx-scheme-handler/https=firefox.desktop;\n[Default Applications]\n"
            try Data((list + "x-scheme-handler/https=w3m.desktop;firefox.desktop;\n").utf8)
                .write(to: URL(filePath: openers.path + "/mimeapps.list"))
            do {
                try await browser.open("https://a.example/")
                exit(1)
            } catch let error as AuthError {
                try #require(error.message.hasPrefix("w3m.desktop is a browser for the terminal"))
            }

            setenv("SUDO_UID", "\(geteuid() + 1)", 1)
            do {
                try await browser.open("https://a.example/")
                exit(1)
            } catch let error as AuthError {
                try #require(error.message.hasPrefix("this program runs as another user than the desktop"))
            }

            setenv("BROWSER", "chosen --new", 1)
            try await browser.open("https://b.example/")
            try #require(
                try await openers.record(of: "chosen").arguments.dropFirst(1) == [
                    "chosen", "--new", "https://b.example/",
                ])
        }
    }
}
