import Foundation
import AppAuthTestProvider
import Testing

extension Torture {
    /// Each process but one dies at any point of a refresh, if it comes to make one.
    ///
    /// - Returns: How many requests may have come to nothing.
    func killAnytime(_ crowd: Int) async throws -> Int {
        var inVain = 0
        for process in try (1..<crowd).map({ _ in try start(.kill, []) }) + start(1) {
            let outcome = try await outcome(of: process)
            if outcome.status == 128 + SIGKILL {
                // The request must be repeated if it was sent and the response not yet stored. (The trace has a send
                // after the call, and a rename before it.) The refresh token of the response is stored first, and then
                // the rest. A write that another one has left is finished before.
                let points = outcome.points.drop { $0 != "sent" }
                let renamed = points.dropLast().count { $0 == "rename session.new" }
                if !points.isEmpty, renamed < 2 { inVain += 1 }
                countDeath(try #require(outcome.points.last))
            } else {
                _ = try outcome.result()
            }
        }
        return inVain
    }

    /// For one process there is no room on the disk, from any point of its refresh on.
    ///
    /// - Returns: How many requests came to nothing: there may be room for only the refresh token.
    func fillDisk(_ crowd: Int) async throws -> Int {
        let first = try start(.full, [])
        for process in try start(crowd - 1) { _ = try await printed(process) }
        let outcome = try await outcome(of: first)
        if outcome.status != 0 { try outcome.failure(1, "store") }
        #expect(newRefreshes <= 2)
        return 1
    }

    /// Starts a process to which something happens at any point of a refresh.
    private func start(_ fault: PointFault, _ arguments: [String]) throws -> ChildProcess {
        // A few more than a refresh has: sometimes nothing happens.
        try injector.start(["token", "--json"] + Torture.limit + arguments, fault, at: int(in: 1...56))
    }

    /// Kills the process whose request is under way; the others get a token by another one.
    func killWhileHeld(_ timestamp: Hold.Point, _ crowd: Int) async throws -> Int {
        for process in try await survivors(of: timestamp, crowd) { _ = try await printed(process) }
        #expect(newRefreshes <= 2)
        return 1
    }

    /// Sends the response, or processes the request, only after the process has received two signals.
    ///
    /// - Returns: How many requests may have come to nothing.
    func giveUp(_ crowd: Int) async throws -> Int {
        let hold = fixture.provider.hold(.token, before: any([.request, .response]))
        let acted = fixture.provider.hold(.token)
        acted.release()
        let processes = try start(crowd, ["--verbose"])
        try await hold.arrived()
        let holder = try #require(processes.first { Self.hasSentSomething($0.id) })
        holder.send(SIGTERM)
        _ = try await holder.line { $0.contains("finishing the refresh") }
        holder.send(SIGTERM)
        #expect(try await holder.outcome().status == 1)
        hold.release()
        for process in processes where process !== holder { _ = try await printed(process) }
        #expect(newRefreshes <= 2)
        try await acted.arrived(newRefreshes)
        return 1
    }

    /// Kills the process whose request is under way.
    ///
    /// - Returns: The others.
    func survivors(of timestamp: Hold.Point, _ crowd: Int) async throws -> [ChildProcess] {
        let hold = fixture.provider.hold(.token, before: timestamp)
        let processes = try start(crowd)
        try await hold.arrived()
        let holder = try #require(processes.first { Self.hasSentSomething($0.id) })
        holder.send(SIGKILL)
        _ = try await holder.outcome()
        hold.release()
        return processes.filter { $0 !== holder }
    }

    /// Whether a process has a connection: it is the one whose request is held.
    private static func hasSentSomething(_ id: pid_t) -> Bool {
        let folder = "/proc/\(id)/fd"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let sockets = names.filter {
            Int($0).map { $0 > 2 } == true
                && (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)"))?
                    .hasPrefix("socket:") == true
        }
        return !sockets.isEmpty
    }
}
