import AppAuthProtocol
import AppAuthSession
import Foundation
import JOSE
import AppAuthTestProvider
import Testing

extension Torture {
    /// The faults that lose a response permanently.
    static let losses: [TortureFault] = [.lost, .cut, .killedBeforeTheResponse]

    /// Loses the response of a server that does not repeat it: the server has rotated the refresh token, the new one is
    /// lost, and the old one counts as stolen if it is presented again (RFC 9700 §4.14.2). The session then ends once,
    /// with the reason, and the user signs in again.
    func lose(by fault: TortureFault, _ name: String) async throws {
        let name = "\(name): \(fault), seed \(seed)"
        try expire()
        let refreshToken = try #require(try fixture.record().refreshToken).reveal()
        let crowd = int(in: 2...5)
        let processes: [ChildProcess]
        if fault == .killedBeforeTheResponse {
            processes = try await survivors(of: .response, crowd)
        } else {
            fixture.provider.fault(fault == .lost ? .lostResponse : .cutOff(after: int(in: 1...600)), at: .token)
            processes = try start(crowd)
        }
        for process in processes {
            let outcome = try await outcome(of: process)
            // It waited for the response that did not come, or presented the token again, or came after that.
            let code = try outcome.json()["error"]?["code"]?.string
            #expect(
                outcome.status == 1 && ["transport", "invalid_response", "sign_in_required"].contains(code),
                "\(name): \(outcome)")
        }
        try await findLoss(of: refreshToken, by: fault, name)
        // Once in vain, once to be refused, and never again.
        #expect(newRefreshes == 2, "\(name)")
        try await signInAgain(name)
    }

    /// Later callers get the reason of the end, and the store keeps only that.
    func findLoss(of refreshToken: String, by fault: TortureFault, _ name: String) async throws {
        #expect(!fixture.provider.isAlive(refreshToken), "\(name): the provider has not changed the token")
        let message = try await token().outcome().failure(1, "sign_in_required")
        // A process that was killed could not store that it got no response.
        let isKnown = fault == .lost || fault == .cut
        #expect(message.contains("the response to an earlier refresh") == isKnown, "\(message)")
        let record = try fixture.record()
        #expect(record.end != nil && record.refreshToken == nil && record.accessToken == nil, "\(name)")
        #expect(fixture.provider.livingTokens.isEmpty, "\(name)")
        countLoss(fault)
    }

    func signInAgain(_ name: String) async throws {
        _ = try await fixture.login().result()
        try check(name)
    }
}
