package import FoundationEssentials

extension ServerClocks {
    /// The clock by which a client's provider writes: that of its token endpoint, or else of whatever of it has answered
    /// within a day. Its keys come last, since they may lie elsewhere.
    package func clock(of client: Client, at now: Timestamp) -> ServerClock? {
        let locations = [
            client[.token], client.provider.issuer.url, client[.pushedAuthorizationRequest], client[.authorization],
            client[.keys],
        ]
        return clock(ofAny: locations.compactMap { $0?.authority }, at: now)
    }
}

extension Environment {
    /// The time by which what a client's provider writes is judged, and whose it is: the provider's own, if it has told it
    /// and is to be believed.
    package func time(of client: Client) -> (date: Date, clock: String) {
        let now = now()
        return serverClocks.clock(of: client, at: now)?.time(at: now) ?? (now.wall, "this machine's clock")
    }
}
