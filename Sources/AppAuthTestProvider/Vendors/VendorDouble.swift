package import JOSE

/// A vendor's server, played on loopback: real HTTP and real state, strict about what it receives, and with the vendor's
/// own odd answers. What the vendor's documentation leaves open says so in a comment: "the double's choice".
package protocol VendorDouble: ObservedService {
    /// Scheme, host and port, without a slash at the end.
    var baseURL: String { get }
    /// What a program needs for a try: `base_url`, and clients, people and codes that only this double knows. Codes
    /// are good once.
    var demo: JSON { get }
    var clock: MovableClock { get }
    /// Closes the listener and every connection, and returns when they are closed.
    func stop() async
}

extension VendorDouble {
    /// Moves the double's clock on, so that tokens expire without anybody waiting.
    package func advance(_ seconds: Int) { clock.advance(seconds) }

    /// ``demo`` on one line.
    package var announcement: String { demo.serialized() }
}

extension Endpoint {
    /// The account of the person that a token belongs to.
    package static let me = Endpoint(rawValue: "me")
}
