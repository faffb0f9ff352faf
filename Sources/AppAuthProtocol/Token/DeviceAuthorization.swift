public import FoundationEssentials
internal import HTTPTypes

/// What the provider answered to a ``DeviceAuthorizationRequest`` (RFC 8628 §3.2): a code for the person, and where to
/// enter it.
///
/// Show the person ``verificationURI`` and ``userCode``, and to nobody else: whoever enters the code first decides who
/// is signed in. Where ``verificationURIComplete`` is there, show it as a QR code too, and the user code beside it, so
/// that the person can compare (§3.3.1, §5.4).
public struct DeviceAuthorization: Sendable {
    /// The request that it answers.
    public let request: DeviceAuthorizationRequest
    /// What the person enters: 1 to 64 characters of printable ASCII. Providers take it in any case.
    public let userCode: String
    /// Where the person enters it: https, or http on loopback where the provider is there itself.
    public let verificationURI: SecureURL
    /// The same with the code in it, for a QR code; nil if the provider has none.
    public let verificationURIComplete: SecureURL?
    /// How long the code can be entered, counted from receipt.
    public var expiresIn: Duration { term.length }
    /// Until when the code can be entered, by this machine's clock: receipt plus `expires_in`.
    public var expiresAt: Date { term.begin.wall + term.length.seconds }
    /// How long to wait between a response and the next question, at first: what the provider says, at least a second;
    /// 5 seconds where it says nothing.
    public let interval: Duration
    /// What the token endpoint is asked with.
    package let deviceCode: Secret
    package let term: Term

    private static let longestUserCode = 64
    private static let longestDeviceCode = 8192

    package init(_ response: TransportResponse, to request: DeviceAuthorizationRequest, received: Timestamp) throws {
        let object = try ResponseObject(response) { message in
            AuthError(
                .invalidResponse, .authorization, "the device authorization response is refused: \(message)",
                httpStatus: HTTPResponse.Status.ok.code)
        }
        self.request = request
        deviceCode = Secret(try Self.code("device_code", in: object, atMost: Self.longestDeviceCode))
        // RFC 8628 §6.1: meant to be read and typed by people.
        userCode = try Self.code("user_code", in: object, atMost: Self.longestUserCode)
        // `verification_url` is the name of an early draft, which some providers still use.
        let isOfDraft = object.value("verification_uri") == nil
        let name = isOfDraft ? "verification_url" : "verification_uri"
        guard let uri = try object.url(name, namedBy: request.endpoint) else {
            throw object.refusal("expected 'verification_uri', found none")
        }
        verificationURI = uri
        verificationURIComplete = try object.url("verification_uri_complete", namedBy: request.endpoint)
        // §3.2: expires_in is REQUIRED.
        let lifetime = try object.required("expires_in") { try object.seconds($0, atLeast: 1) }
        term = Term(from: received, for: .seconds(lifetime))
        // §3.5: 5 seconds where nothing is said. None at all would mean to ask without a pause.
        interval = .seconds(max(1, try object.seconds("interval", .up) ?? 5))
    }

    /// Visible ASCII, with spaces inside: it is shown on a terminal, or sent.
    private static func code(_ name: String, in object: ResponseObject, atMost count: Int) throws -> String {
        let code = try object.required(name) { try object.text($0, atMost: count) }
        guard !code.hasPrefix(" "), !code.hasSuffix(" ") else {
            throw object.refusal("expected '\(name)' without spaces around it, found some")
        }
        return code
    }
}

extension DeviceAuthorization: CustomStringConvertible, CustomReflectable {
    /// Names client and provider alone, since whoever has the user code can use it up.
    public var description: String {
        "device authorization of '\(request.client.id)' by \(request.client.provider.issuer)"
    }
    /// Shows no children, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
