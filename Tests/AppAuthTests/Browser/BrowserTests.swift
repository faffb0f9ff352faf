import AppAuth
import FoundationEssentials
import Glibc
import TestFixtures
import Testing

/// Browsers are started as real processes.
@Suite(.timeLimit(.minutes(5)))
struct BrowserTests {
    private let url = "https://provider.example/authorize?state=s&x=%20"

    @Test func `the URL is the last argument`() async throws {
        let program = try RecordingBrowser()
        try await Browser(candidates: ["\(program.command) --new-window  -x"]).open(url)
        #expect(try await program.record().arguments == ["--new-window", "-x", url])
    }

    @Test func `%s stands for the URL`() async throws {
        let program = try RecordingBrowser()
        try await Browser(candidates: ["\(program.command) --app=%s -- %s end"]).open(url)
        #expect(try await program.record().arguments == ["--app=\(url)", "--", url, "end"])
    }

    @Test func `quotes group words, and so does the path of a program`() async throws {
        let program = try RecordingBrowser()
        try await Browser(candidates: ["\(program.command) 'a b' --app=\"%s\" \"%s\""]).open(url)
        #expect(try await program.record().arguments == ["a b", "--app=\(url)", url])
        let folder = program.folder + "/Program Files (x86)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: folder + "/my shell", withDestinationPath: "/bin/sh")
        for arguments in ["", " %s"] {
            try await Browser(candidates: ["\(folder)/my shell \(program.script) --new\(arguments)"]).open(url)
            #expect(try await program.record().arguments == ["--new", url])
        }
    }

    @Test(arguments: [
        ("$(touch x)", "%24%28touch%20x%29"), (";reboot", ";reboot"), ("&bg", "&bg"), ("|cat", "%7Ccat"),
        ("a b  c", "a%20b%20%20c"), ("'", "%27"), ("\"", "%22"), ("`id`", "%60id%60"), ("\\", "%5C"),
        ("*?[a]", "%2A?[a]"), ("~-._", "~-._"), ("%s", "%25s"), ("%d", "%25d"), ("%2", "%252"), ("%aF%20", "%aF%20"),
        ("<>", "%3C%3E"), ("!!", "%21%21"), ("ü“", "%C3%BC%E2%80%9C"), ("#{x}", "#%7Bx%7D"), ("a=b+c,d:@", "a=b+c,d:@"),
    ])
    func `the URL is one argument, and nothing in it is left for a shell`(_ part: String, _ given: String) async throws
    {
        let program = try RecordingBrowser()
        try await Browser(candidates: ["\(program.command) %s"]).open("http://127.0.0.1/\(part)")
        #expect(try await program.record().arguments == ["http://127.0.0.1/\(given)"])
        try await Browser(candidates: [program.command]).open("http://127.0.0.1/\(part)")
        #expect(try await program.record().arguments == ["http://127.0.0.1/\(given)"])
    }

    @Test func `nothing of this process goes with it`() async throws {
        let program = try RecordingBrowser()
        // A descriptor that would be inherited, and a signal that is ignored here.
        let leak = open(program.script, O_RDONLY)
        defer { close(leak) }
        let former = signal(SIGUSR2, SIG_IGN)
        defer { signal(SIGUSR2, former) }
        #expect(fcntl(leak, F_GETFD) & FD_CLOEXEC == 0)

        try await Browser(candidates: [program.command]).open(url)
        let record = try await program.record()
        for stream in 0...2 { #expect(record.files[stream] == "/dev/null") }
        // The shell that runs the script holds it open, and lists itself through a pipe.
        let others = record.files.filter { $0.key > 2 && !$0.value.hasPrefix("pipe:") }
        #expect(others.values.filter { $0 != program.script }.isEmpty)
        #expect(others.count <= 1)
        #expect(record.session == record.process)
        #expect(record.session != getsid(0))
        #expect(record.blocked == 0)
        #expect(record.ignored == 0)
    }

    @Test func `it is collected when it ends`() async throws {
        let program = try RecordingBrowser()
        try await Browser(candidates: [program.command]).open(url)
        let process = try await program.record().process
        try await waitUntil { !FileManager.default.fileExists(atPath: "/proc/\(process)") }
    }

    /// In a process of its own, since no thread can be started there any more.
    @Test func `where no thread can be started to collect it, no program is started`() async {
        await #expect(processExitsWith: .success) {
            // In a task that has its thread already.
            try await Task.detached {
                var limit = rlimit()
                let memory = __rlimit_resource_t(RLIMIT_AS.rawValue)
                getrlimit(memory, &limit)
                let former = limit
                let pages = try #require(
                    FileManager.default.contents(atPath: "/proc/self/statm")
                        .flatMap { UInt(String(decoding: $0, as: UTF8.self).prefix { $0 != " " }) })
                // No room for a stack.
                limit.rlim_cur = rlim_t(pages * UInt(getpagesize()) + 1 << 20)
                setrlimit(memory, &limit)
                let result: Result<[BrowserObstacle], any Error>
                do { result = .success(try await Browser(candidates: ["true"]).open("http://127.0.0.1/")) } catch {
                    result = .failure(error)
                }
                limit = former
                setrlimit(memory, &limit)
                let error = #expect(throws: AuthError.self) { try result.get() }
                try #require(error?.message.contains("a thread could not be started") == true)
                // There is no child, not even a dead one.
                try #require(waitpid(-1, nil, WNOHANG) == -1 && errno == ECHILD)
            }.value
        }
    }

    @Test func `one that runs on is not waited for`() async throws {
        let program = try RecordingBrowser(script: "read line < \"${0%/*}/pipe\"\n")
        try await Browser(candidates: [program.command]).open(url)
        // It still waits for its pipe: ended from here.
        let ended = try await onThread { [pipe = program.pipe] in
            let file = open(pipe, O_WRONLY)
            defer { close(file) }
            return write(file, "\n", 1) == 1
        }
        #expect(ended)
    }

    @Test(arguments: [
        "/nonexistent/browser", "nonexistent-browser-of-nobody", "false", "/tmp", "/etc/passwd",
    ])
    func `the next is tried where one cannot be started or fails at once`(_ candidate: String) async throws {
        let program = try RecordingBrowser()
        try await Browser(candidates: [candidate, program.command]).open(url)
        #expect(try await program.record().arguments == [url])
    }

    @Test func `the error names the tried programs, and no part of the URL`() async throws {
        let quits = try RecordingBrowser(script: "exit 3\n")
        let killed = try RecordingBrowser(script: "kill -9 $$\n")
        let candidates = ["/nonexistent/browser --x", quits.command, killed.command, " "]
        let error = await #expect(throws: AuthError.self) { try await Browser(candidates: candidates).open(url) }
        #expect(error?.code == .browser)
        #expect(error?.stage == .browser)
        let message = try #require(error?.message)
        #expect(message.contains("/nonexistent/browser (No such file or directory), /bin/sh (exit status 3), "))
        #expect(message.contains("/bin/sh (ended by signal 9)"))
        #expect(!message.contains("provider.example"))
        let none = await #expect(throws: AuthError.self) { try await Browser(candidates: []).open(url) }
        #expect(none?.code == .browser)
    }

    @Test(arguments: ["http://127.0.0.1:1/x", "HTTPS://a.example"])
    func `http and https are opened`(_ url: String) async throws {
        try await confirmation { opened in
            let browser = Browser { given in
                #expect(given == url)
                opened()
            }
            try await browser.open(url)
        }
    }

    @Test(arguments: [
        "", "https", "https:", "https:/a", "//a", "file:///etc/passwd", "javascript:alert(1)", "mailto:a@b", "-h",
        " https://a", "ftp://a", "https://a/\n", "https://a/\u{0}", "http://a/\u{7F}", "httpx://a",
    ])
    func `anything else is refused`(_ url: String) async throws {
        let browser = Browser { _ in Issue.record("opened") }
        let error = await #expect(throws: AuthError.self) { try await browser.open(url) }
        #expect(error?.code == .invalidConfiguration)
        #expect(!url.contains(":") || error?.message.contains(url) == false)
    }

    @Test func `the error of an app's own opener says that the browser could not be opened`() async {
        let browser = Browser { _ in throw WireError(number: 7) }
        let error = await #expect(throws: AuthError.self) { try await browser.open(url) }
        #expect(error?.code == .browser)
        #expect(error?.message.contains("WireError") == true)
        let cancelled = Browser { _ in throw CancellationError() }
        await #expect(throws: CancellationError.self) { try await cancelled.open(url) }
    }

    /// In a process of its own, since it changes the environment.
    @Test func `the system's browser is the one that BROWSER names`() async throws {
        await #expect(processExitsWith: .success) {
            let program = try RecordingBrowser()
            setenv("BROWSER", "/nonexistent/browser:\(program.command) --one %s", 1)
            try await Browser.system.open("https://provider.example/")
            try #require(try await program.record().arguments == ["--one", "https://provider.example/"])
        }
    }
}
