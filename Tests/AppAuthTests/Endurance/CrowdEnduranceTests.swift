import Glibc
import Testing

/// Crowds of hostile clients, against a listener in a process of its own, whose memory and threads are counted.
@Suite(.timeLimit(.minutes(10)))
struct CrowdEnduranceTests {
    /// The highest values found.
    private struct Most {
        private let listener: ListenerProcess
        let memoryBefore: Int
        var memory = 0
        var sockets = 0
        var listenerThreads = 0

        init(_ listener: ListenerProcess) {
            self.listener = listener
            memoryBefore = listener.memory
        }

        mutating func measure() {
            memory = max(memory, listener.memory)
            sockets = max(sockets, listener.sockets)
            listenerThreads = max(listenerThreads, listener.listenerThreads.count)
        }
    }

    private func expectLittle(_ most: Most) {
        #expect(most.memory < most.memoryBefore + 5 * 1024, "\(most.memoryBefore) KiB, then \(most.memory) KiB")
        // One listens, and 64 are connections; a few may come and go while the kernel lists them.
        #expect((1...96).contains(most.sockets), "\(most.sockets) sockets")
        #expect(most.listenerThreads == 1)
    }

    /// Other threads come first: this one has time.
    private func beModest() { setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19) }

    @Test func `a hundred thousand wrong requests change nothing but a counter`() async throws {
        let (most, statuses, result, end) = try await onThread {
            beModest()
            let listener = try ListenerProcess()
            let crowd = Crowd(listener.redirectURI)
            var most = Most(listener)
            try crowd.exchange(100_000) { most.measure() }
            let statuses = try crowd.comeBack().map(\.status)
            return (most, statuses, try listener.result(), listener.status())
        }
        expectLittle(most)
        #expect(statuses == [303, 200])
        #expect(result == ("code=c&state=right", 100_000), "\(result)")
        #expect(end == 0)
    }

    @Test func `neither heads of 20 MB nor a thousand slow connections take memory, threads or time`() async throws {
        try raiseDescriptorLimit()
        let (most, statuses, time, clients) = try await onThread {
            // A slow connection may take a minute here, so that a busy machine also finds code that waits for one.
            let listener = try ListenerProcess(isPatient: true)
            let crowd = Crowd(listener.redirectURI)
            var most = Most(listener)
            for start in ["GET /", "GET / HTTP/1.1\r\nX: "] { try crowd.sendTooMuch(start) { most.measure() } }
            let clients = try crowd.slowConnections(1000) { most.measure() }
            let start = ContinuousClock.now
            let first = try crowd.redirect()
            let time = ContinuousClock.now - start
            // The earlier requests have been read.
            most.measure()
            return (most, [first.status, try crowd.page(first).status], time, clients.count)
        }
        expectLittle(most)
        #expect(clients == 1000)
        #expect(statuses == [303, 200])
        #expect(time < .seconds(30))
    }

    @Test func `a browser that waits for the outcome keeps its connection if the descriptors run out`() async throws {
        let page = try await onThread {
            let listener = try ListenerProcess(isFull: true)
            let crowd = Crowd(listener.redirectURI)
            let browser = try crowd.browserAtPage(crowd.redirect())
            _ = try listener.result()
            // A response to a later connection shows that the listener has the browser's.
            try crowd.exchange(1) {}
            try listener.order()
            _ = try listener.line()
            let crowding = try crowd.slowConnections(1) {}
            // Two steps: the listener has seen the other connection by then.
            for _ in 1...2 { try listener.order() }
            _ = try listener.line()
            return try withExtendedLifetime(crowding) { try browser.readAll() }
        }
        #expect(String(decoding: page, as: UTF8.self).hasPrefix("HTTP/1.1 200 "))
    }
}
