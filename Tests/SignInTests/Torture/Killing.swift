import Foundation
import LocalProvider
import Testing

extension Torture {
    /// Kills a process at any moment.
    ///
    /// - Returns: How many requests may have come to nothing.
    func killAnytime(_ crowd: Int) async throws -> Int {
        let processes = try start(crowd)
        let delay = UInt32(int(in: 0...40_000))
        await elsewhere { usleep(delay) }
        processes[int(in: 0...(crowd - 1))].send(SIGKILL)
        for process in processes {
            let outcome = try await process.outcome()
            guard outcome.status != 128 + SIGKILL else { continue }
            _ = try await printed(process)
        }
        // The one that was killed may have sent its request, or been about to.
        #expect(newRefreshes <= 2)
        return 1
    }

    /// Kills the process whose request is under way; the others get a token by another one.
    func killWhileHeld(_ moment: Hold.Moment, _ crowd: Int) async throws -> Int {
        for process in try await survivors(of: moment, crowd) { _ = try await printed(process) }
        #expect(newRefreshes <= 2)
        return 1
    }

    /// Kills the process whose request is under way.
    ///
    /// - Returns: The others.
    func survivors(of moment: Hold.Moment, _ crowd: Int) async throws -> [ChildProcess] {
        let hold = desk.provider.hold(.token, before: moment)
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

    private func elsewhere(_ wait: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                wait()
                continuation.resume()
            }
        }
    }
}
