import Foundation
import HTTPTypes
import LocalProvider
import Testing

/// What happens in a round.
enum Accident: CaseIterable {
    /// Nothing but a crowd.
    case herd
    /// A process is killed at any moment.
    case killed
    /// A process is killed before the provider acts on its request.
    case killedBeforeItIsSeen
    /// A process is killed after the provider has acted and before the answer is out.
    case killedBeforeTheAnswer
    /// The answer is lost on its way.
    case lost
    /// The answer ends in the middle.
    case cut
    /// The answer takes a while.
    case late
    /// The server fails.
    case refused
    /// The server asks to wait.
    case busy
    /// There are too few descriptors for a connection, or for a lock.
    case fewDescriptors
    /// There is no room on the disk.
    case fullDisk
    /// The wall clock is a year off (by Debian's program faketime).
    case clock
}

extension Torture {
    /// Lets it happen, to a few processes that want a token at the same time.
    func play(_ accident: Accident) async throws {
        count(accident)
        let crowd = int(in: 2...6)
        switch accident {
        case .herd:
            for process in try start(crowd) { _ = try await printed(process) }
            #expect(newRefreshes == 1)
        case .killed:
            let processes = try start(crowd)
            let delay = UInt32(int(in: 0...40_000))
            await elsewhere { usleep(delay) }
            processes[int(in: 0...(crowd - 1))].send(SIGKILL)
            for process in processes {
                let outcome = try await process.outcome()
                #expect(outcome.status == 0 || outcome.status == 128 + SIGKILL, "\(outcome)")
            }
            // The one that was killed may have sent its request, or been about to.
            #expect(newRefreshes <= 2)
        case .killedBeforeItIsSeen: try await killWhileHeld(.request, crowd)
        case .killedBeforeTheAnswer: try await killWhileHeld(.answer, crowd)
        case .lost: try await fail(crowd, .lostAnswer)
        case .cut: try await fail(crowd, .cutOff(after: int(in: 1...600)))
        case .late:
            desk.provider.fault(.delay(.milliseconds(int(in: 1...200))), at: .token)
            for process in try start(crowd) { _ = try await printed(process) }
            #expect(newRefreshes == 1)
        case .refused:
            let status = any([HTTPResponse.Status.internalServerError, .badGateway, .serviceUnavailable])
            try await fail(crowd, .status(status))
        case .busy: try await fail(crowd, .tooManyRequests(retryAfter: 1))
        case .fewDescriptors:
            let outcome = try await limited("-n \(int(in: 8...12))").outcome()
            #expect(outcome.status == 0 || outcome.status == 1, "\(outcome)")
        case .fullDisk:
            try await limited("-f 0").outcome().failure(1, "store")
            #expect(newRefreshes == 0)
        case .clock:
            let step = any(["+365d", "-365d", "+2h", "-2h"])
            let prefix = ["faketime", "-m", "--exclude-monotonic", "-f", step, try BuiltProducts.path("sign-in")]
            let outcome = try await desk.start(prefix, ["token", "--json"]).outcome()
            // By hours the provider's clock helps; a year is too much to believe for an ID token, and costs nothing.
            if step.hasSuffix("h") { _ = try outcome.result() } else { try outcome.failure(1, "clock_skew") }
        }
    }

    private func limited(_ limit: String) throws -> ChildProcess {
        let script = #"ulimit \#(limit); exec "$0" "$@""#
        return try desk.start(
            ["sh", "-c", script, BuiltProducts.path("sign-in")], ["token", "--json", "--timeout", "2"])
    }

    private func start(_ count: Int) throws -> [ChildProcess] { try (0..<count).map { _ in try token() } }

    /// One of the processes gets the fault; the others get a token, or the same error.
    private func fail(_ crowd: Int, _ fault: Fault) async throws {
        desk.provider.fault(fault, at: .token)
        for process in try start(crowd) {
            let outcome = try await process.outcome()
            #expect(outcome.status == 0 || outcome.status == 1, "\(outcome)")
        }
        desk.provider.clearFaults()
    }

    private func killWhileHeld(_ moment: Hold.Moment, _ crowd: Int) async throws {
        let hold = desk.provider.hold(.token, before: moment)
        let processes = try start(crowd)
        try await hold.arrived()
        let holder = try #require(processes.first { Self.hasSentSomething($0.id) })
        holder.send(SIGKILL)
        _ = try await holder.outcome()
        hold.release()
        for process in processes where process !== holder { _ = try await printed(process) }
        #expect(newRefreshes <= 2)
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

    private func elsewhere(_ wait: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                wait()
                continuation.resume()
            }
        }
    }
}
