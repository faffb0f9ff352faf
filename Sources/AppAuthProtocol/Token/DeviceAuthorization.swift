public import FoundationEssentials
internal import JOSE

/// The provider's response to a ``DeviceAuthorizationRequest`` (RFC 8628 §3.2): a code for the user and where to enter
/// it.
///
/// Show ``verificationURI`` and ``userCode`` only to the user: the first to enter the code decides who is signed in. If
/// there is a ``verificationURIComplete``, also show it as a QR code, next to the user code, so that the user can
/// compare the two (§3.3.1, §5.4). Also say where the code was requested, and that the user must not enter a code that
/// someone else sent, because that would give the sender the user's session (§5.4). If ``isElsewhere`` is true, show the
/// hosts of the issuer and of the page, with a warning.
public struct DeviceAuthorization: Sendable {
    /// The request.
    public let request: DeviceAuthorizationRequest
    /// The code that the user enters: 1 to 32 letters, digits, hyphens, low lines and spaces. Providers accept it in
    /// any case.
    public let userCode: String
    /// Where the user enters the code: https, or http on loopback if the provider is there itself.
    public let verificationURI: SecureURL
    /// The same URL including the code, for a QR code; nil if the provider has none.
    public let verificationURIComplete: SecureURL?
    /// Whether a page is not on the issuer's origin. A server can name the page of another one together with a code that
    /// it requested there itself (RFC 8628 §5.4).
    public var isElsewhere: Bool {
        let issuer = request.client.provider.issuer.url.origin
        return [verificationURI, verificationURIComplete].compactMap(\.self).contains { $0.origin != issuer }
    }
    /// How long the code can be entered, from receipt.
    public var expiresIn: Duration { term.length }
    /// When the code expires by this machine's clock: receipt plus `expires_in`.
    public var expiresAt: Date { term.begin.wall + term.length.seconds }
    /// The initial pause between a response and the next poll: the provider's value, at least 1 second; by default 5.
    public let interval: Duration
    /// The code for the token endpoint.
    package let deviceCode: Secret
    package let term: Term

    private static let longestUserCode = 32
    private static let longestDeviceCode = 8192

    package init(_ response: TransportResponse, to request: DeviceAuthorizationRequest, received: Timestamp) throws {
        let object = try ResponseObject(
            accepted: response, as: "device authorization response", stage: .authorization)
        self.request = request
        deviceCode = Secret(try Self.code("device_code", in: object, atMost: Self.longestDeviceCode))
        // RFC 8628 §6.1: users read and type it. Other characters could make a sentence of it, which sends the user to
        // another page with another code.
        userCode = try Self.code("user_code", in: object, atMost: Self.longestUserCode)
        guard userCode.utf8.allSatisfy({ $0.isASCIIAlphanumeric || "-_ ".utf8.contains($0) }) else {
            throw object.refusal("expected 'user_code' of letters, digits, hyphens and spaces, found other characters")
        }
        // `verification_url` is the name in an early draft, which some providers still use.
        let isOfDraft = object.members[nonEmpty: "verification_uri"] == nil
        let name = isOfDraft ? "verification_url" : "verification_uri"
        guard let uri = try object.url(name, namedBy: request.endpoint) else {
            throw object.refusal("expected 'verification_uri', found none")
        }
        verificationURI = uri
        // The user can do without it: a URL that cannot be used is not shown.
        verificationURIComplete = (try? object.url("verification_uri_complete", namedBy: request.endpoint)) ?? nil
        // §3.2: expires_in is REQUIRED.
        let lifetime = try object.required("expires_in") { try object.seconds($0, atLeast: 1) }
        term = Term(from: received, for: .seconds(lifetime))
        // §3.5: 5 seconds by default. Zero would mean polling without a pause.
        interval = .seconds(max(1, ((try? object.seconds("interval", .up)) ?? nil) ?? 5))
    }

    /// Reads visible ASCII, with spaces only inside: the code is shown on a terminal, or sent.
    private static func code(_ name: String, in object: ResponseObject, atMost count: Int) throws -> String {
        let code = try object.required(name) { try object.text($0, atMost: count) }
        guard !code.hasPrefix(" "), !code.hasSuffix(" ") else {
            throw object.refusal("expected \(name.foundText) without leading or trailing spaces, found some")
        }
        return code
    }
}

extension DeviceAuthorization: CustomStringConvertible, CustomReflectable {
    /// Names only client and provider, because any holder of the user code can use it.
    public var description: String {
        "device authorization of \(request.client.id.foundText) by \(request.client.provider.issuer)"
    }
    /// A mirror without children, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
