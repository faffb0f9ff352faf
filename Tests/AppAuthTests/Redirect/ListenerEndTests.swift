import AppAuth
import FoundationEssentials
import Glibc
import Testing

/// How a listener ends, and that it leaves nothing.
@Suite(.timeLimit(.minutes(5)))
struct ListenerEndTests {
    @Test func `a cancelled wait closes everything at once`() async throws {
        let listener = try LoopbackRedirectListener.patient()
        let sockets = try ListeningSockets(at: listener.port)
        let halfOpen = try WireClient(listener.port)
        let waiting = Task { try await listener.redirect(state: "s") }
        #expect(try await listener.get("/callback?state=wrong").status == 400)
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(try await onThread { try halfOpen.readAll() }.isEmpty)
        #expect(try sockets.areClosed)
    }

    @Test func `a wait in a cancelled task does not begin`() async throws {
        let listener = try LoopbackRedirectListener()
        let waiting = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await listener.redirect(state: "s")
        }
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    @Test func `closing ends the wait with an error, and may be repeated`() async throws {
        let listener = try LoopbackRedirectListener()
        let waiting = Task { try await listener.redirect(state: "s") }
        #expect(try await listener.get("/callback?state=wrong").status == 400)
        listener.close()
        listener.close()
        await #expect(throws: AuthError.self) { try await waiting.value }
        await #expect(throws: AuthError.self) { try await listener.redirect(state: "s") }
        await listener.finish(with: .signedIn(appName: "Harbour"))
    }

    @Test func `the last reference closes the port`() throws {
        var listener: LoopbackRedirectListener? = try LoopbackRedirectListener()
        let port = try #require(listener?.port)
        let sockets = try ListeningSockets(at: port)
        _ = try WireClient(port)
        listener = nil
        #expect(try sockets.areClosed)
    }

    @Test func `a judge may hold the last reference`() async throws {
        let query = try await {
            let listener = try LoopbackRedirectListener()
            async let answer = listener.get("/callback?state=s")
            let query = try await listener.redirect { [listener] in listener.port > 0 ? $0 : nil }
            #expect(try await answer.status == 303)
            return query
        }()
        #expect(query == "state=s")
    }

    @Test func `without a redirect there is nobody to wait for`() async throws {
        let listener = try LoopbackRedirectListener.patient()
        let sockets = try ListeningSockets(at: listener.port)
        await listener.finish(with: .failed(appName: "Harbour"))
        #expect(try sockets.areClosed)
    }

    @Test func `a browser that never comes for the page is awaited for its time alone`() async throws {
        #expect(ListenerLimits().pageTime == .seconds(1))
        var limits = ListenerLimits()
        limits.pageTime = .milliseconds(100)
        let listener = try LoopbackRedirectListener(host: .ipv4, ports: [0], path: "/callback", limits: limits)
        let sockets = try ListeningSockets(at: listener.port)
        async let query = listener.redirect(state: "s")
        #expect(try await listener.get("/callback?state=s").status == 303)
        _ = try await query
        let start = ContinuousClock.now
        await listener.finish(with: .signedIn(appName: "Harbour"))
        #expect(ContinuousClock.now - start >= .milliseconds(100))
        #expect(try sockets.areClosed)
    }

    @Test func `a browser that has gone breaks nothing`() async throws {
        var limits = ListenerLimits()
        limits.pageTime = .milliseconds(200)
        let listener = try LoopbackRedirectListener(host: .ipv4, ports: [0], path: "/callback", limits: limits)
        let sockets = try ListeningSockets(at: listener.port)
        async let query = listener.redirect(state: "s")
        let done = try #require(listener.path(of: try await listener.get("/callback?state=s")["location"]))
        _ = try await query
        let (port, authority) = (listener.port, listener.authority)
        try await onThread { _ = try WireClient(port).send(request(done, host: authority)) }
        // More than the kernel takes at once: the later parts meet a closed connection.
        let message = String(repeating: "x", count: 20_000_000)
        let text = CompletionPage.Text(language: "en", title: "", heading: "", message: message)
        await listener.finish(with: CompletionPage(texts: [text], isSuccess: true))
        #expect(try sockets.areClosed)
    }

    @Test func `the end does not wait once the page was read`() async throws {
        let listener = try LoopbackRedirectListener.patient()
        async let query = listener.redirect(state: "s")
        let done = try #require(listener.path(of: try await listener.get("/callback?state=s")["location"]))
        _ = try await query
        async let page = listener.get(done)
        await listener.finish(with: .signedIn(appName: "Harbour"))
        #expect(try await page.status == 200)
    }

    @Test func `a cancelled end waits for nobody, and shows the page to a browser that is there`() async throws {
        let listener = try LoopbackRedirectListener.patient()
        let sockets = try ListeningSockets(at: listener.port)
        async let query = listener.redirect(state: "s")
        let done = try #require(listener.path(of: try await listener.get("/callback?state=s")["location"]))
        _ = try await query
        let (port, authority) = (listener.port, listener.authority)
        let browser = try await onThread {
            let client = try WireClient(port)
            client.send(request(done, host: authority))
            return client
        }
        #expect(try await onThread { !browser.isReadable(within: 100) })
        await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await listener.finish(with: .failed(appName: "Harbour"))
        }.value
        #expect(try sockets.areClosed)
        #expect(try await onThread { try browser.answer().body.contains("did not succeed") })
    }

    @Test func `a cancelled end waits for no browser that is not there`() async throws {
        let listener = try LoopbackRedirectListener.patient()
        let sockets = try ListeningSockets(at: listener.port)
        async let query = listener.redirect(state: "s")
        #expect(try await listener.get("/callback?state=s").status == 303)
        _ = try await query
        let finishing = Task { await listener.finish(with: .signedIn(appName: "Harbour")) }
        finishing.cancel()
        await finishing.value
        #expect(try sockets.areClosed)
    }

    /// In a process of its own, since every descriptor and thread is counted.
    @Test func `no descriptor and no thread is left, and memory stays flat`() async {
        await #expect(processExitsWith: .success) {
            let descriptors = Leftovers.descriptors
            // Once, so that what the runtime takes for itself is taken.
            try await Leftovers.serveAndAbuse(rounds: 3)
            let memory = Leftovers.residentKilobytes
            try await Leftovers.serveAndAbuse(rounds: 12)
            try #require(Leftovers.residentKilobytes < memory + 5 * 1024)
            // The clients of this test go when their closures do, and a thread that was joined stays in /proc for a
            // moment. What is left for good ends the test by its time limit.
            while Leftovers.descriptors > descriptors || !Leftovers.listenerThreads.isEmpty { await Task.yield() }
        }
    }
}

/// What a process has open, and what opens it.
private enum Leftovers {
    /// How many of the descriptors are of the kinds that listeners open.
    static var descriptors: Int {
        let targets = entries("/proc/self/fd").compactMap { name in
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)
        }
        return targets.filter { $0.hasPrefix("socket:") || $0 == "anon_inode:[eventfd]" }.count
    }

    static var listenerThreads: [String] {
        entries("/proc/self/task").filter { text("/proc/self/task/\($0)/comm").hasPrefix("redirect-") }
    }

    static var residentKilobytes: Int {
        let line = text("/proc/self/status").split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return line?.split(separator: " ").compactMap { Int($0) }.first ?? 0
    }

    private static func entries(_ path: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    }

    private static func text(_ path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }

    /// Listeners with good, bad and unfinished connections, ended in each way there is.
    static func serveAndAbuse(rounds: Int) async throws {
        for round in 0..<rounds {
            let listener = try LoopbackRedirectListener.patient(.localhost)
            let (port, authority) = (listener.port, listener.authority)
            let waiting = Task { try await listener.redirect(state: "s") }
            let halfOpen = try await onThread {
                let large = try WireClient(port)
                let chunk = [UInt8](repeating: UInt8(ascii: "a"), count: 1 << 16)
                for _ in 0..<32 where !large.send(chunk) { break }
                for _ in 0..<100 {
                    let client = try WireClient(port)
                    client.send(request("/callback?state=wrong", host: authority))
                    guard try client.answer().status == 400 else { throw WireError(number: 0) }
                }
                return try (0..<100).map { _ in try WireClient(port) }
            }
            switch round % 3 {
            case 0: waiting.cancel()
            case 1: listener.close()
            default:
                guard let done = listener.path(of: try await listener.get("/callback?state=s")["location"]) else {
                    throw WireError(number: 0)
                }
                _ = try await waiting.value
                async let page = listener.get(done)
                await listener.finish(with: .signedIn(appName: "Harbour"))
                _ = try await page
            }
            _ = await waiting.result
            guard halfOpen.count == 100 else { throw WireError(number: 0) }
        }
    }
}
