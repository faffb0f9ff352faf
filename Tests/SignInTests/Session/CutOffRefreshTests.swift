import AppAuthSession
import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// A refresh that is cut off, at a provider that ends the grant when a used refresh token comes back.
@Suite(.timeLimit(.minutes(5)))
struct CutOffRefreshTests {
    enum Cut: CaseIterable { case kill, interrupt, terminate, timeout }

    @Test(arguments: Cut.allCases)
    func `a refresh that is cut off while the keys are fetched loses nothing`(cut: Cut) async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let before = try fixture.record()
            try fixture.provider.rotateSigningKeys()
            try fixture.provider.withdrawOldSigningKeys()
            let hold = fixture.provider.hold(.keys, before: .request)
            let limit = cut == .timeout ? ["--timeout", "8"] : []
            let process = try fixture.start(["token", "--force-refresh", "--json"] + limit)
            try await hold.arrived()
            let stored = try fixture.record()
            #expect(stored.refreshToken != before.refreshToken && stored.accessToken == before.accessToken)
            switch cut {
            case .kill: process.send(SIGKILL)
            case .interrupt: process.send(SIGINT)
            case .terminate: process.send(SIGTERM)
            case .timeout: break
            }
            // The keys do not come before the process has ended.
            _ = try await process.outcome()
            hold.release()
            _ = try await fixture.run("token", "--force-refresh", "--json").result()
        }
    }

    @Test func `an interrupt waits for a refresh that was sent, and says so`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let before = try fixture.record()
            // Longer than a user would wait without a reason.
            fixture.provider.fault(.delay(.seconds(3)), at: .token)
            let hold = fixture.provider.hold(.token, before: .request)
            let process = try fixture.start(["token", "--force-refresh", "--verbose"])
            try await hold.arrived()
            process.send(SIGINT)
            _ = try await process.line { $0.contains("finishing the refresh, press Ctrl-C again to give up") }
            hold.release()
            let outcome = try await process.outcome()
            #expect(outcome.status == 130, "\(outcome)")
            #expect(try fixture.record().refreshToken != before.refreshToken)
            _ = try await fixture.run("token", "--force-refresh", "--json").result()
        }
    }

    @Test func `a second interrupt gives up`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let hold = fixture.provider.hold(.token, before: .request)
            let process = try fixture.start(["token", "--force-refresh", "--verbose"])
            try await hold.arrived()
            process.send(SIGINT)
            _ = try await process.line { $0.contains("finishing the refresh") }
            process.send(SIGINT)
            #expect(try await process.outcome().status == 130)
            hold.release()
        }
    }

    /// timeout(1) sends its signal to the process and to its group, and a terminal that is closed may send SIGHUP twice.
    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func `a signal that comes twice at once does not give up the refresh`(signal: CInt) async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let before = try fixture.record()
            let hold = fixture.provider.hold(.token, before: .request)
            defer { hold.release() }
            let process = try fixture.start(["token", "--force-refresh", "--verbose"])
            try await hold.arrived()
            for _ in 0..<2 {
                process.send(signal)
                // Two signals of one kind that are pending at the same time are one.
                while try Self.isPending(signal, process.id) { await Task.yield() }
            }
            _ = try await process.line { $0.contains("finishing the refresh") }
            hold.release()
            #expect(try await process.outcome().status == (signal == SIGINT ? 130 : 1))
            #expect(try fixture.record().refreshToken != before.refreshToken)
        }
    }

    @Test func `only the user gives up a refresh, not the end of the terminal`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let before = try fixture.record()
            let hold = fixture.provider.hold(.token, before: .request)
            defer { hold.release() }
            let process = try fixture.start(["token", "--force-refresh", "--verbose"])
            try await hold.arrived()
            process.send(SIGINT)
            _ = try await process.line { $0.contains("finishing the refresh") }
            process.send(SIGHUP)
            while try Self.isPending(SIGHUP, process.id) { await Task.yield() }
            hold.release()
            #expect(try await process.outcome().status == 130)
            #expect(try fixture.record().refreshToken != before.refreshToken)
        }
    }

    /// The pending signals of a process, proc(5).
    private static func isPending(_ signal: CInt, _ id: pid_t) throws -> Bool {
        let status = try String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("ShdPnd:") }
        let bits = UInt64(line?.split(separator: "\t").last ?? "", radix: 16)
        return try #require(bits) >> (signal - 1) & 1 == 1
    }

    @Test func `a closed pipe for the log does not end the process during a refresh`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let before = try fixture.record()
            // The reader of the log ends at once.
            let script = #"sign-in token --json --force-refresh --verbose 2> >(exec true)"#
            let hold = fixture.provider.hold(.token, before: .request)
            defer { hold.release() }
            let process = try fixture.start(["bash", "-c", script], [])
            try await hold.arrived()
            hold.release()
            _ = try await process.outcome().result()
            #expect(try fixture.record().refreshToken != before.refreshToken)
        }
    }

    /// A file that is opened gets the lowest free number, which must not be that of an output.
    @Test func `no file gets the number of a closed stream`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let token = "exec sign-in token --force-refresh --verbose"
            let silent = try await fixture.start(["sh", "-c", token + " <&- 2>&-"], []).outcome()
            #expect(silent.status == 0 && silent.errors.isEmpty, "\(silent)")
            let unwritten = try await fixture.start(["sh", "-c", token + " <&- >&-"], []).outcome()
            #expect(
                unwritten.status == 1 && unwritten.errors.contains("cannot be written: Bad file descriptor"),
                "\(unwritten)")
            _ = try await fixture.run("token", "--json", "--force-refresh").result()
        }
    }
}
