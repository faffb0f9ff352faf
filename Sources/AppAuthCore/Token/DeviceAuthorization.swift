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
    /// Where the person enters it: https, or http on loopback.
    public let verificationURI: SecureURL
    /// The same with the code in it, for a QR code; nil if the provider has none.
    public let verificationURIComplete: SecureURL?
    /// How long the code can be entered, counted from receipt.
    public var expiresIn: Duration { term.length }
    /// Until when the code can be entered, by this machine's clock: receipt plus `expires_in`.
    public var expiresAt: Date { term.begin.wall + term.length.seconds }
    /// How long to wait between an answer and the next question, at first: what the provider says, at least a second;
    /// 5 seconds where it says nothing.
    public let interval: Duration
    /// What the token endpoint is asked with.
    package let deviceCode: Secret
    package let term: Term

    /// A hundred years: more is an error of whoever wrote it.
    private static let longestLifetime = 3_155_760_000
    private static let longestUserCode = 64
    private static let longestDeviceCode = 8192

    package init(_ answer: HTTPAnswer, to request: DeviceAuthorizationRequest, received: Moment) throws {
        guard answer.mediaType == "application/json" else {
            throw Self.refusal("expected content of type application/json, found \(answer.mediaType ?? "none")")
        }
        let json: JSON
        do { json = try JSON(parsing: answer.body) } catch { throw Self.refusal("\(error)") }
        guard let members = json.object else { throw Self.refusal("expected a JSON object") }
        self.request = request
        deviceCode = Secret(try Self.code("device_code", in: members, atMost: Self.longestDeviceCode))
        // RFC 8628 §6.1: meant to be read and typed by people.
        userCode = try Self.code("user_code", in: members, atMost: Self.longestUserCode)
        // `verification_url` is the name of an early draft, which some providers still use.
        let isOfDraft = members["verification_uri"] ?? .null == .null
        guard let uri = try Self.url(isOfDraft ? "verification_url" : "verification_uri", in: members) else {
            throw Self.refusal("expected 'verification_uri', found none")
        }
        verificationURI = uri
        verificationURIComplete = try Self.url("verification_uri_complete", in: members)
        // §3.2: expires_in is REQUIRED.
        guard let lifetime = members["expires_in"].flatMap(Self.seconds), lifetime >= 1 else {
            throw Self.refusal("expected 'expires_in' to be 1 to \(Self.longestLifetime) seconds")
        }
        term = Term(from: received, for: .seconds(Int(lifetime)))
        interval = try Self.interval(members["interval"])
    }

    /// §3.5: 5 seconds where nothing is said. None at all would mean to ask without a pause.
    private static func interval(_ member: JSON?) throws -> Duration {
        guard let member, member != .null else { return .seconds(5) }
        guard let seconds = seconds(member) else {
            throw refusal("expected 'interval' to be 0 to \(longestLifetime) seconds")
        }
        return .seconds(max(1, Int(seconds.rounded(.up))))
    }

    /// Visible ASCII, with spaces inside: it is shown on a terminal, or sent.
    private static func code(_ name: String, in members: JSON.Object, atMost count: Int) throws -> String {
        guard let code = members[name]?.string else { throw refusal("expected '\(name)' to be a string") }
        guard (1...count).contains(code.utf8.count), code.utf8.allSatisfy({ (0x20...0x7E).contains($0) }),
            !code.hasPrefix(" "), !code.hasSuffix(" ")
        else { throw refusal("expected '\(name)' to be 1 to \(count) visible ASCII characters") }
        return code
    }

    private static func url(_ name: String, in members: JSON.Object) throws -> SecureURL? {
        guard let member = members[name], member != .null else { return nil }
        guard let text = member.string else { throw refusal("expected '\(name)' to be a string") }
        do { return try SecureURL(text) } catch let error as AuthError { throw refusal("'\(name)': \(error.message)") }
    }

    /// A number, or a string that holds one, as several servers send it.
    private static func seconds(_ value: JSON) -> Double? {
        let number = value.double ?? value.string.flatMap { try? JSON(parsing: Array($0.utf8)) }?.double
        return number.flatMap { (0...Double(longestLifetime)).contains($0) ? $0 : nil }
    }

    private static func refusal(_ message: String) -> AuthError {
        AuthError(
            .invalidResponse, .authorization, "the device authorization response is refused: \(message)",
            httpStatus: HTTPResponse.Status.ok.code)
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
