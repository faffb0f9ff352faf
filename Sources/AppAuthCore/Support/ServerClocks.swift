internal import FoundationEssentials
internal import HTTPTypes
internal import JOSE

/// The clocks of the servers that have answered in this process, by their host and port.
package final class ServerClocks: Sendable {
    private let clocks = Guarded<[String: ServerClock]>([:])
    /// An app has a few providers; whoever has more starts anew.
    private static let most = 64

    func note(_ answer: HTTPAnswer, to request: HTTPRequest, at now: Moment) {
        guard let authority = request.authority, let clock = ServerClock(answer, received: now) else { return }
        clocks.withLock { clocks in
            if clocks.count >= Self.most, clocks[authority] == nil { clocks.removeAll() }
            clocks[authority] = clock
        }
    }

    /// The clock by which a provider writes: that of its token endpoint, or else of whatever of it has answered. Its keys
    /// come last, since they may lie elsewhere.
    package func clock(of provider: ProviderMetadata) -> ServerClock? {
        let places = [
            provider[.token], provider.issuer.url, provider[.pushedAuthorizationRequest], provider[.authorization],
            provider[.keys],
        ]
        let known = clocks.withLock { $0 }
        return places.lazy.compactMap { $0.flatMap { known[$0.authority] } }.first
    }
}

extension Environment {
    /// The time by which what a provider writes is judged, and whose it is: the provider's own, if it has told it and is to be
    /// believed.
    func time(of provider: ProviderMetadata) -> (date: Date, clock: String) {
        let now = now()
        return serverClocks.clock(of: provider)?.time(at: now) ?? (now.wall, "this machine's clock")
    }
}
