import AppAuth
import AppAuthPostgreSQL
import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import Foundation
import Testing
import TestFixtures

/// Processes on three machines, and a database on one or two more, with one session at a provider that rotates refresh
/// tokens. The machines are network namespaces. The provider is on loopback, and each machine has a proxy to it.
///
/// `APPAUTH_TORTURE_SEED` repeats a run, `APPAUTH_TORTURE_ROUNDS` makes it longer.
@Suite(.serialized, .enabled(if: Network.isPossible, Network.reason))
struct MachinesEnduranceTests {
    struct Fixture {
        let server: Server
        let provider: LocalProvider
        let store: PostgreSQLTokenStore
        let machines: [Machine]

        /// Starts a process on a machine that needs a token.
        ///
        /// - Parameter insists: Whether it tries again after an error, with a line of input.
        func token(on machine: Int, insists: Bool = false) throws -> Program {
            try machines[machine % 3].session([insists ? "serve" : "token", server.connection(), "one", "1"])
        }

        func expire() async throws { try await store.update { $0 = try $0?.expired() } }
    }

    private func run(
        _ configuration: LocalProvider.Configuration, databases: Int = 1, _ test: (Fixture) async throws -> Void
    ) async throws {
        let network = try await Network()
        var machines: [Machine] = []
        for number in 1...(3 + databases) { machines.append(try await network.machine(number)) }
        let servers = Array(machines[3...])
        machines.removeLast(databases)
        try await Server.run(isAlone: true, on: servers) { [machines] server in
            try await withLocalProvider(configuration) { provider in
                let store = try server.database().store(for: "one")
                try await store.database.createTable()
                _ = try await provider.signIn(store: store)
                let proxies = try machines.map { machine in
                    try Program.session(["proxy", String(provider.port), machine.networkNamespace])
                }
                for proxy in proxies { _ = try await proxy.line { $0 == "ready" } }
                try await test(Fixture(server: server, provider: provider, store: store, machines: machines))
                withExtendedLifetime(proxies) {}
            }
        }
    }

    /// Without a grace period: a token that is sent twice ends the session.
    @Test(.timeLimit(.minutes(5))) func `twenty processes on each of three machines share one refresh`() async throws {
        try await run(.demo) { fixture in
            for _ in 0..<2 {
                try await fixture.expire()
                let sent = fixture.provider.count(.token)
                let processes = try (0..<60).map { try fixture.token(on: $0) }
                var tokens: Set<String> = []
                for process in processes { tokens.insert(try await process.end()) }
                #expect(tokens.count == 1, "\(tokens)")
                #expect(fixture.provider.count(.token) == sent + 1)
            }
        }
    }

    @Test(.timeLimit(.minutes(5))) func `the store keeps its promises on three machines at once`() async throws {
        try await run(.demo) { fixture in
            let suites = try fixture.machines.indices.map { index in
                try fixture.machines[index].session(["conformance", fixture.server.connection(), "\(index)/"])
            }
            for suite in suites {
                let end = try await suite.end()
                #expect(end == "ended")
            }
            let found = "SELECT DISTINCT split_part(key, '/', 1) FROM appauth_session ORDER BY 1"
            #expect(try fixture.server.sql(found) == "0\n1\n2\none")
        }
    }

    @Test(.timeLimit(.minutes(5))) func `a session learns of new tokens and of a sign-out on another machine`()
        async throws
    {
        try await run(.demo) { fixture in
            let watch = try fixture.machines[0].session(["watch", fixture.server.connection(), "one"])
            _ = try await watch.line { $0 == "watching" }
            try await fixture.expire()
            let token = try await fixture.token(on: 1).end()
            _ = try await watch.line { $0 == "renewed \(token)" }
            let there = try #require(await AuthState(restoring: fixture.store, environment: .live))
            try await there.signOut()
            #expect(try await watch.end().hasSuffix("ended"))
        }
    }

    /// Without a grace period: a token that is sent twice ends the session.
    @Test(.timeLimit(.minutes(5)))
    func `tokens that a full disk does not take are stored later, and none is sent twice`() async throws {
        try await run(.demo) { fixture in
            let (provider, disk) = (fixture.provider, try SmallDisk(of: fixture.server))
            try await fixture.expire()
            let sent = provider.count(.token)
            let backup = try await disk.backup()
            // Before the refresh: nothing is sent.
            try disk.fill()
            let early = try await fixture.token(on: 0).end()
            #expect(early.contains("53100"), "\(early)")
            #expect(provider.count(.token) == sent)
            try disk.empty()
            // While the new tokens are on their way: the process keeps them and the lock.
            let hold = provider.hold(.token)
            let holder = try fixture.token(on: 0, insists: true)
            try await hold.arrived()
            let other = try fixture.token(on: 1)
            try disk.fill()
            hold.release()
            _ = try await holder.line { $0.contains("53100") }
            // It stores them without a caller, and the other one gets them.
            try disk.empty()
            let token = try await other.end()
            holder.write("again")
            #expect(try await holder.end().hasSuffix("\n\(token)"), "\(token)")
            #expect(provider.count(.token) == sent + 1)
            backup.closeInput()
            try await fixture.expire()
            let next = try await fixture.token(on: 2).end()
            #expect(!next.contains(" ") && next != token, "\(next)")
        }
    }

    /// What happens while the holder of the lock is at the provider.
    private enum Fault: CaseIterable {
        case none, killedHolder, crash, partition, stoppedHolder, fullDisk, failOver

        /// How often the refresh token may be sent: once more by the next holder, if the first one has lost the lock.
        var requests: ClosedRange<Int> { [.none, .fullDisk].contains(self) ? 1...1 : 1...2 }
    }

    /// The holder's response is lost or late in most rounds, so the provider accepts a used token for an hour.
    @Test(.timeLimit(.minutes(240))) func `the session survives the failure of a holder, a network or the server`()
        async throws
    {
        let variables = ProcessInfo.processInfo.environment
        let rounds = variables["APPAUTH_TORTURE_ROUNDS"].flatMap(Int.init) ?? 14
        let seed = variables["APPAUTH_TORTURE_SEED"].flatMap(UInt64.init) ?? .random(in: 0...9999)
        print("torture: \(rounds) rounds, APPAUTH_TORTURE_SEED=\(seed)")
        var random = Generator(state: seed)
        var configuration = LocalProvider.Configuration.demo
        configuration.refreshTokenGracePeriod = 3600
        try await run(configuration, databases: 2) { fixture in
            let disk = try SmallDisk(of: fixture.server)
            var counts: [Fault: (rounds: Int, resent: Int)] = [:]
            for round in 1...rounds {
                let fault =
                    round <= Fault.allCases.count
                    ? Fault.allCases[round - 1] : Fault.allCases.randomElement(using: &random) ?? .none
                let requests = try await play(fault, fixture, disk, "round \(round), \(fault)")
                #expect(fault.requests.contains(requests), "round \(round), \(fault): \(requests)")
                counts[fault, default: (0, 0)].rounds += 1
                counts[fault]?.resent += requests - 1
            }
            let summary = counts.map { "\($0) \($1.rounds) (\($1.resent) sent again)" }.sorted()
            print("torture: \(summary.joined(separator: ", "))")
        }
    }

    /// - Returns: How often the refresh token was sent.
    private func play(
        _ fault: Fault, _ fixture: Fixture, _ disk: SmallDisk, _ name: String
    ) async throws -> Int {
        let backup = fault == .fullDisk ? try await disk.backup() : nil
        try await fixture.expire()
        let provider = fixture.provider
        let sent = provider.count(.token)
        let hold = fault == .fullDisk ? provider.hold(.token) : nil
        if ![.none, .fullDisk].contains(fault) { provider.fault(.delay(.seconds(3)), at: .token) }
        let holder = try fixture.token(on: 0, insists: fault == .fullDisk)
        if fault != .none { try await provider.requests(sent + 1, at: .token) }
        let others = try (1...4).map { try fixture.token(on: $0 % 2 + 1) }
        let machine = fixture.machines[0]
        switch fault {
        case .none: break
        case .killedHolder: holder.kill(SIGKILL)
        case .crash:
            try await fixture.server.crash()
            try await fixture.server.start()
        case .partition: try machine.disconnect()
        case .stoppedHolder: holder.kill(SIGSTOP)
        case .fullDisk:
            try await hold?.arrived()
            try disk.fill()
            hold?.release()
            _ = try await holder.line { $0.contains("53100") }
            try disk.empty()
        case .failOver: try await fixture.server.failOver()
        }
        var tokens: Set<String> = []
        for process in others { tokens.insert(try await lastLine(of: process)) }
        try machine.connect()
        holder.kill(SIGCONT)
        if fault == .fullDisk { holder.write("again") }
        let late = try await lastLine(of: holder)
        backup?.closeInput()
        _ = try await backup?.end()
        #expect(tokens.count == 1 && tokens.allSatisfy { !$0.contains(" ") }, "\(name): \(tokens)")
        let requests = provider.count(.token) - sent
        // The holder uses the tokens of the next one, or the others use the holder's.
        if fault != .killedHolder { #expect(tokens.contains(late), "\(name): \(late)") }
        let record = try #require(try await fixture.store.load(), "\(name)")
        #expect(record.end == nil && tokens.contains(record.accessToken?.value.reveal() ?? ""), "\(name)")
        // What is stored is what the provider accepts.
        try await fixture.expire()
        let next = try await fixture.token(on: 1).end()
        #expect(!next.contains(" ") && !tokens.contains(next), "\(name): \(next)")
        return requests
    }

    /// Returns the token or the error. If a server ends while libpq connects to it, libpq prints the server's warning.
    private func lastLine(of process: Program) async throws -> String {
        try await process.end().split(separator: "\n").last.map(String.init) ?? ""
    }

    private struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }
}
