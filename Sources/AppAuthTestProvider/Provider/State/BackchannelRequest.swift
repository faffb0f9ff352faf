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
    var status = DeviceRequest.Status.pending
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
