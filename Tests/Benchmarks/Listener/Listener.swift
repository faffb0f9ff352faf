internal import AppAuth
internal import BenchReport
internal import Glibc

/// A server that listens on loopback.
protocol BenchedServer: Sendable {
    /// Its port.
    var port: Int { get }
    func stop() async throws
}

/// `SERVER SECONDS`
@MainActor func listener(named name: String, for duration: Duration) async throws -> Report {
    let start: () async throws -> any BenchedServer
    switch name {
    case "appauth": start = { try LibraryServer() }
    case "poll": start = { try PollServer() }
    case "nio": start = { try await NIOServer() }
    default: throw Failure(usage: "expected the server appauth, poll or nio, found '\(name)'")
    }

    // A sign-in has started libcrypto before it listens.
    _ = try PKCE()
    let memory = status("VmRSS:")
    let (server, bound) = try await timed(start)
    let boundMemory = status("VmRSS:")

    let before = Spent.now
    let load = try Load(port: server.port, for: duration)
    let threads = status("Threads:")
    let (responses, wall) = try load.result()
    var spent = Spent.now - before
    spent.wall = wall
    let loadMemory = status("VmRSS:")
    try await server.stop()

    var rebound: [Double] = []
    for _ in 0..<21 {
        let (server, time) = try await timed(start)
        rebound.append(time)
        try await server.stop()
    }

    var report = Report(n: responses, spent)
    report.add("bound_us", Int(bound * 1e6))
    report.add("rebound_us", Int(rebound.sorted()[10] * 1e6))
    report.add("rss_kb", memory)
    report.add("bound_rss_kb", boundMemory)
    report.add("load_rss_kb", loadMemory)
    report.add("threads", threads)
    return report
}

@MainActor private func timed(
    _ start: () async throws -> any BenchedServer
) async throws -> (any BenchedServer, Double) {
    let before = Spent.now
    let server = try await start()
    return (server, (Spent.now - before).wall)
}

/// A number of this process that the kernel knows (proc(5)).
private func status(_ name: String) -> Int {
    let bytes = (try? contents(of: "/proc/self/status")) ?? []
    let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix(name) }
    return line?.split { $0 == " " || $0 == "\t" }.compactMap { Int($0) }.first ?? 0
}

/// The library's listener, while a redirect is awaited that never comes.
private struct LibraryServer: BenchedServer {
    private let listener: LoopbackRedirectListener
    private let waiting: Task<Void, any Error>
    let port: Int

    init() throws {
        let listener = try LoopbackRedirectListener()
        self.listener = listener
        waiting = Task { try await listener.redirect { $0.contains("state=right") ? () : nil } }
        port = listener.redirectURI.split(separator: ":").last.flatMap { Int($0.prefix { $0 != "/" }) } ?? 0
    }

    func stop() async throws {
        waiting.cancel()
        _ = await waiting.result
    }
}
