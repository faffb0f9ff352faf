package import FoundationEssentials

extension ServerClocks {
    /// Returns the clock of a client's provider: the one that its token endpoint, or else another of its hosts,
    /// reported within the last day. The keys come last, because they may be on another host.
    package func clock(of client: Client, at now: Timestamp) -> ServerClock? {
        let locations = [
            client[.token], client.provider.issuer.url, client[.pushedAuthorizationRequest], client[.authorization],
            client[.keys],
        ]
        return clock(ofAny: locations.compactMap { $0?.authority }, at: now)
    }
}

extension Environment {
    /// Returns the time with which the times of a client's provider are compared, and whose clock it is: the provider's
    /// if it is known and plausible, otherwise this machine's.
    package func time(of client: Client) -> (date: Date, clock: String) {
        let now = now()
        return serverClocks.clock(of: client, at: now)?.time(at: now) ?? (now.wall, "this computer’s clock")
    }
}
