/// The protocol of a ``RedirectDelivery`` on the listener's side: the helper sends the URL and ends its sending side, and
/// the response is one word.
struct DeliveryRules: ConnectionRules {
    let uri: PrivateUseURI

    /// A helper that was not responded to in time has gone, but the redirect that it brought is still valid.
    static let keepsAbandonedRedirects = true

    /// The bytes of the URL.
    func newRequest(isForeign: Bool) -> [UInt8] { [] }

    func read(_ bytes: ArraySlice<UInt8>, of url: inout [UInt8], in phase: RedirectPhase) -> ConnectionStep {
        guard url.count + bytes.count <= RedirectDelivery.largest else { return .ignore(Self.ignored) }
        url += bytes
        guard bytes.isEmpty else { return .readMore }
        // A process that connects and sends nothing only checks whether this listener is alive.
        return url.isEmpty ? .close : step(for: url, in: phase)
    }

    func step(for url: [UInt8], in phase: RedirectPhase) -> ConnectionStep {
        guard phase == .open, let content = String(validating: url, as: UTF8.self).flatMap(uri.content(of:)) else {
            return .ignore(Self.ignored)
        }
        return .match(content)
    }

    func response(to url: [UInt8], isAccepted: Bool) -> [UInt8] {
        isAccepted ? Array(RedirectDelivery.taken.utf8) : Self.ignored
    }

    func response(toLate url: [UInt8]) -> [UInt8]? { nil }

    private static let ignored = Array("ignored\n".utf8)
}
