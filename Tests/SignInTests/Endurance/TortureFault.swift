import JOSE
import AppAuthSession
import Foundation
import HTTPTypes
import AppAuthTestProvider
import Testing

/// The fault of a round.
enum TortureFault: CaseIterable {
    /// Nothing but a crowd.
    case herd
    /// All processes but one are killed, each at any point of its refresh.
    case killed
    /// A process is killed before the provider acts on its request.
    case killedBeforeItIsSeen
    /// A process is killed after the provider has acted and before the response is out.
    case killedBeforeTheResponse
    /// The response is lost on its way.
    case lost
    /// The response ends in the middle.
    case cut
    /// The response takes a while.
    case late
    /// The user gives up before the response arrives.
    case givenUp
    /// The response comes twice.
    case duplicated
    /// The server fails.
    case refused
    /// The server asks to wait.
    case busy
    /// The server fails, or asks to wait, for as long as one crowd comes after the other.
    case storm
    /// There may be too few descriptors to begin.
    case fewDescriptors
    /// There is no room on the disk.
    case fullDisk
    /// There is none from any point of a refresh on, for the one process that makes it.
    case fillingDisk
    /// The wall clock is a year off (by Debian's program faketime).
    case clock
}

extension Torture {
    /// Lets it happen, to a few processes that want a token at the same time.
    ///
    /// - Returns: How many of their requests may have come to nothing.
    func play(_ fault: TortureFault) async throws -> Int {
        let crowd = int(in: 2...6)
        switch fault {
        case .herd: return try await succeed(crowd)
        case .killed: return try await killAnytime(crowd)
        case .killedBeforeItIsSeen: return try await killWhileHeld(.request, crowd)
        case .killedBeforeTheResponse: return try await killWhileHeld(.response, crowd)
        case .lost: return try await fail(crowd, .lostResponse, "transport")
        // In the middle of its head it is no HTTP.
        case .cut: return try await fail(crowd, .cutOff(after: int(in: 1...600)), "transport", "invalid_response")
        case .late: return try await succeed(crowd, .delay(.milliseconds(int(in: 1...200))))
        case .givenUp: return try await giveUp(crowd)
        case .duplicated: return try await succeed(crowd, .duplicatedResponse)
        case .refused:
            let status = any([HTTPResponse.Status.internalServerError, .badGateway, .serviceUnavailable])
            return try await fail(crowd, .status(status), "invalid_response")
        case .busy: return try await fail(crowd, .tooManyRequests(retryAfter: 1), "invalid_response")
        case .storm: return try await storm(crowd)
        case .fewDescriptors:
            let outcome = try await outcome(of: limited("-n \(int(in: 8...45))"))
            if outcome.status != 0 { try expectFailure(outcome, ["unavailable"]) }
            #expect(newRefreshes == (outcome.status == 0 ? 1 : 0))
            return 0
        case .fullDisk:
            try await limited("-f 0").outcome().failure(1, "store")
            #expect(newRefreshes == 0)
            return 0
        case .fillingDisk: return try await fillDisk(crowd)
        case .clock: return try await setClock(any(["+365d", "-365d", "+2h", "-2h"]))
        }
    }

    /// All callers get the same token with one request, even if its response is lost.
    private func succeed(_ crowd: Int, _ fault: Fault? = nil) async throws -> Int {
        if let fault { fixture.provider.fault(fault, at: .token) }
        var tokens: Set<String> = []
        for process in try start(crowd) { tokens.insert(try await printed(process)) }
        #expect(tokens.count == 1)
        #expect(newRefreshes == 1)
        return 0
    }

    /// One of the processes gets the fault; the others get a token, or the same error.
    private func fail(_ crowd: Int, _ fault: Fault, _ codes: String...) async throws -> Int {
        fixture.provider.fault(fault, at: .token)
        var failures = 0
        for process in try start(crowd) {
            let outcome = try await outcome(of: process)
            guard outcome.status != 0 else { continue }
            failures += 1
            try expectFailure(outcome, codes)
        }
        #expect(failures >= 1)
        fixture.provider.clearFaults()
        // The callers after a failed refresh share the next attempt.
        #expect(newRefreshes <= 2)
        return 1
    }

    func expectFailure(_ outcome: Outcome, _ codes: [String]) throws {
        let code = try #require(try outcome.json()["error"]?["code"]?.string, "\(outcome)")
        #expect(codes.contains(code), "\(outcome)")
        try outcome.failure(1, code)
    }

    /// The pauses between the requests are those of one client, however many processes there are.
    private func storm(_ crowd: Int) async throws -> Int {
        let asksToWait = any([true, false, false])
        let fault = asksToWait ? Fault.tooManyRequests(retryAfter: 60) : .status(.internalServerError)
        fixture.provider.fault(fault, at: .token, times: 20)
        let begin = ContinuousClock.now
        // After a first failure there is no pause, unless the server requests one.
        var most = asksToWait ? 1 : 2
        for wave in 1...int(in: 4...5) {
            if wave > 1, any([true, false, false]) {
                try endPause()
                most += 1
            }
            // The first wave has time to send something, however slow the machine is.
            for process in try start(min(crowd, 3), ["--timeout", wave == 1 ? "30" : "1"]) {
                // Or the pause is longer than it waits.
                try expectFailure(await outcome(of: process), ["invalid_response", "timeout", "store"])
            }
        }
        // The shortest pause is of a second, where the server asks for none.
        if !asksToWait { most += Int((ContinuousClock.now - begin) / .seconds(1)) }
        #expect(newRefreshes >= 1 && newRefreshes <= most, "\(most)")
        #expect(try fixture.record().backoff?.count == newRefreshes)
        fixture.provider.clearFaults()
        try endPause()
        return newRefreshes
    }

    private func setClock(_ step: String) async throws -> Int {
        let prefix = ["faketime", "-m", "--exclude-monotonic", "-f", step, try BuiltProducts.path("sign-in")]
        let outcome = try await outcome(of: fixture.start(prefix, ["token", "--json"]))
        #expect(newRefreshes == 1)
        // By hours the provider's clock helps. A year is too much to believe for an ID token, which is then not used.
        _ = try outcome.result()
        // When a clock that was a year behind is set, the machine might have stood still for that year.
        return step == "-365d" ? 1 : 0
    }

    private func limited(_ limit: String) throws -> ChildProcess {
        let script = #"ulimit \#(limit); exec "$0" "$@""#
        return try fixture.start(
            ["sh", "-c", script, BuiltProducts.path("sign-in")], ["token", "--json", "--timeout", "30"])
    }

    /// The pause after failures is over, as if time had passed.
    private func endPause() throws {
        try CommandFixture.editSession(at: "\(fixture.sessions)/\(try #require(fixture.stored.first))") {
            try $0.endPause()
        }
    }

    func start(_ count: Int, _ arguments: [String] = []) throws -> [ChildProcess] {
        try (0..<count).map { _ in try token(arguments) }
    }
}
