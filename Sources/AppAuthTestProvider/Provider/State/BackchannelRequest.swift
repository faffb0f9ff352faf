internal import AppAuthConcurrency
internal import FoundationEssentials
internal import JOSE

/// A sign-in that a user must approve on their own device (CIBA Core §7).
struct BackchannelRequest: Sendable {
    let client: RegisteredClient
    let user: User
    let scopes: [String]
    let bindingMessage: String?
    let expiresAt: Date
    var pace: PollingPace
    var outcome = DeviceRequest.Outcome.pending
}

/// The interval that a client must keep between two polls (RFC 8628 §3.5, CIBA Core §11).
struct PollingPace: Sendable {
    /// The interval in seconds.
    private(set) var interval: Int
    private var lastPoll: Date?

    init(interval: Int) { self.interval = interval }

    /// Records a poll and returns its error. A poll that comes too soon adds five seconds to the interval, for this and
    /// all later polls.
    mutating func poll(_ now: Date) -> OAuthFailure {
        let isTooSoon = lastPoll.map { now.timeIntervalSince($0) < Double(interval) } ?? false
        lastPoll = now
        guard isTooSoon else { return OAuthFailure("authorization_pending", "the user has not decided yet") }
        interval += 5
        return OAuthFailure("slow_down", "expected \(interval) seconds between two questions")
    }
}

extension LocalProvider {
    /// A sign-in that waits for a decision on the user's device.
    package struct WaitingApproval: Sendable, Hashable {
        package let authReqID: String
        package let userName: String
        package let bindingMessage: String?
    }

    /// The sign-ins that the users' devices show now.
    package var waitingApprovals: [WaitingApproval] {
        let now = context.now
        return context.store.withLock { records in
            records.backchannel.compactMap { id, request in
                guard case .pending = request.outcome, request.expiresAt > now else { return nil }
                return WaitingApproval(
                    authReqID: id, userName: request.user.name, bindingMessage: request.bindingMessage)
            }
        }
    }

    /// Decides a sign-in as the user on their device.
    ///
    /// - Throws: ``ProviderError`` if no sign-in with this id is waiting.
    package func decide(_ authReqID: String, isAllowed: Bool) throws {
        let (now, grantID) = (context.now, try OpaqueToken.make())
        try context.store.withLock { records in
            guard var request = records.backchannel[authReqID], case .pending = request.outcome,
                request.expiresAt > now
            else { throw ProviderError("nothing waits for a decision as '\(authReqID)'") }
            request.outcome =
                isAllowed
                ? .approved(
                    Grant(
                        id: grantID, clientID: request.client.id, subject: request.user.subject,
                        scopes: request.scopes, authTime: now, acr: Metadata.acr, nonce: nil, claims: .none,
                        resources: [])) : .denied
            records.backchannel[authReqID] = request
        }
    }
}

extension Endpoint {
    /// The backchannel authentication endpoint (CIBA Core §7).
    package static let backchannelAuthentication = Endpoint(rawValue: "backchannelAuthentication")
}
