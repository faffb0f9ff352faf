public import AppAuthCore

extension Environment {
    /// The real world: libcurl, the system's clock, no log.
    ///
    /// Each use makes a transport of its own, with connections of its own: keep one for all that belongs together.
    public static var live: Environment { Environment(transport: CurlTransport()) }
}
