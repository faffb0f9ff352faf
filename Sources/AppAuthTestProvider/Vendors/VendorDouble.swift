package import JOSE

/// A double of a vendor's server on loopback. It has real HTTP and real state, is strict about requests, and has the
/// vendor's own odd responses. A comment marks what the vendor's documentation leaves open as "the double's choice".
package protocol VendorDouble: ObservedService {
    /// The scheme, host and port, without a trailing slash.
    var baseURL: String { get }
    /// The data that a program needs to try the double: `base_url`, and the clients, users and codes of this double.
    /// Each code is valid once.
    var demo: JSON { get }
    var clock: MovableClock { get }
    /// Closes the listener and every connection, and returns when they are closed.
    func stop() async
}

extension VendorDouble {
    /// Advances the double's clock, so that tokens expire without waiting.
    package func advance(_ seconds: Int) { clock.advance(seconds) }

    /// The value of ``demo`` on one line.
    package var announcement: String { demo.serialized() }
}

extension Endpoint {
    /// The account of a token's user.
    package static let me = Endpoint(rawValue: "me")
}
