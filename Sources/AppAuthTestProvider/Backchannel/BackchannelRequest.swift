internal import FoundationEssentials
internal import JOSE

/// A sign-in that somebody has to approve on their own device (CIBA Core §7).
struct BackchannelRequest: Sendable {
    let client: RegisteredClient
    let user: User
    let scopes: [String]
    let bindingMessage: String?
    let expiresAt: Date
    var pace: PollingPace
    var outcome = DeviceRequest.Outcome.pending
}

/// The pauses that a client has to leave between two questions (RFC 8628 §3.5, CIBA Core §11).
struct PollingPace: Sendable {
    /// In seconds.
    private(set) var interval: Int
    private var lastPoll: Date?

    init(interval: Int) { self.interval = interval }

    /// Who asks too soon has to leave five seconds more, for this and all that follow.
    mutating func poll(_ now: Date) -> OAuthFailure {
        let isTooSoon = lastPoll.map { now.timeIntervalSince($0) < Double(interval) } ?? false
        lastPoll = now
        guard isTooSoon else { return OAuthFailure("authorization_pending", "the person has not decided yet") }
        interval += 5
        return OAuthFailure("slow_down", "expected \(interval) seconds between two questions")
    }
}

extension LocalProvider {
    /// A sign-in that waits on somebody's own device.
    package struct WaitingApproval: Sendable, Hashable {
        package let authReqID: String
        package let userName: String
        package let bindingMessage: String?
    }

    /// What the people's devices show now.
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

    /// The person decides on their device.
    ///
    /// - Throws: ``ProviderError`` if nothing of this name waits for them.
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
    /// CIBA Core §7.
    package static let backchannelAuthentication = Endpoint(rawValue: "backchannelAuthentication")
}
