package import FoundationEssentials
internal import HTTPTypes
internal import JOSE

/// The JSON object of a response, with strict access: a member must have the right type, unless it is absent.
///
/// `null` is always absent. An empty string is absent where it means nothing: for credentials, URLs, scopes and
/// lifetimes. It is a value, and usually a wrong one, where the absence of a value might permit something: a name that
/// is compared, such as `iss` or `aud`, and a time.
package struct ResponseObject {
    package let members: JSON.Object
    /// Creates the error from a message, in which no secret is left that the request or this object has: a server may repeat
    /// one where something else is expected.
    package let refusal: @Sendable (String) -> AuthError

    /// The members that are secrets, and those that stand for them until the user has agreed.
    private static let secretMembers = [
        "access_token", "refresh_token", "id_token", "client_secret", "registration_access_token", "device_code",
        "auth_req_id",
    ]

    /// A hundred years. A longer lifetime is a mistake of the server.
    static let longestLifetime = 3_155_760_000
    /// The end of the year 9999.
    static let latestTime = 253_402_300_799.0

    /// Reads the response to a POST that the server has accepted. Its errors say that the server may have acted on the
    /// request.
    ///
    /// - Parameter name: What the response is, for messages: `token response`.
    package init(accepted response: TransportResponse, as name: String, stage: AuthError.Stage) throws {
        try self.init(response) { message in
            AuthError(
                .invalidResponse, stage, "invalid \(name): \(message)", outcome: .perhapsProcessed,
                httpStatus: response.status.code)
        }
    }

    /// - Parameters:
    ///   - response: A response whose body is a JSON object. RFC 6749 §5.1 demands the type application/json, but some servers
    ///     name another one, or none.
    ///   - refuse: Creates the error from a message.
    package init(_ response: TransportResponse, refuse: @escaping @Sendable (String) -> AuthError) throws {
        let json: JSON
        do { json = try response.parsedBody } catch {
            let type = response.mediaType
            guard type != "application/json" else { throw refuse("\(error)") }
            throw refuse("expected content of type application/json, found \(type?.foundText ?? "none")")
        }
        try self.init(json, hiding: response.secrets, refuse: refuse)
    }

    /// - Parameter secrets: Texts that no error may repeat, beside those of the object itself.
    package init(
        _ json: JSON?, hiding secrets: [Secret] = [], refuse: @escaping @Sendable (String) -> AuthError
    ) throws {
        guard let members = json?.object else { throw refuse("expected a JSON object, found \(json.foundKind)") }
        let own = Self.secretMembers.compactMap { members[$0]?.string.map { Secret($0) } }
        self.members = members
        refusal = { refuse(Redaction(of: secrets + own).applied(to: $0)) }
    }

    /// Reads a string that is compared or identifies something: an empty one is a value.
    package func string(_ name: String) throws -> String? { try members[name].map { try string(name, $0) } }

    private func string(_ name: String, _ value: JSON) throws -> String {
        guard let text = value.exactString else {
            throw refusal("expected \(name.foundText) to be a string, found \(value.kind)")
        }
        return text
    }

    private func nonEmptyString(_ name: String) throws -> String? {
        try members[nonEmpty: name].map { try string(name, $0) }
    }

    /// Reads a string that is only shown to users: a broken character does no harm in it.
    package func shownText(_ name: String) throws -> String? {
        guard let value = members[nonEmpty: name] else { return nil }
        guard let text = value.string else {
            throw refusal("expected \(name.foundText) to be a string, found \(value.kind)")
        }
        return text
    }

    /// Reads visible ASCII and spaces (RFC 6749 appendix A), so that nothing can break out of a header field or a form.
    package func text(_ name: String, atMost count: Int = 64 << 10) throws -> String? {
        guard let text = try nonEmptyString(name) else { return nil }
        let length = text.utf8.count
        let isVisible = text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
        guard length <= count, isVisible else {
            let found = length <= count ? "other characters" : "\(length)"
            throw refusal("expected \(name.foundText) to be 1 to \(count) visible ASCII characters, found \(found)")
        }
        return text
    }

    /// Reads a text, or a whole number, as several servers send the ID of what their database numbers.
    package func textOrInteger(_ name: String) throws -> String? {
        if case .number(let number)? = members[name], let value = number.int { return String(value) }
        return try text(name)
    }

    /// Reads a list of scopes. RFC 6749 §3.3: it has at least one, so that an empty list counts as absent. Some servers,
    /// Twitch among them, send an array in place of a text.
    package func scope() throws -> [Scope]? {
        let text = try members["scope"]?.strings?.joined(separator: " ") ?? string("scope")
        guard let scope = text.map([Scope].init(received:)), !scope.isEmpty else { return nil }
        return scope
    }

    package func secret(_ name: String) throws -> Secret? { try text(name).map { Secret($0) } }

    package func required<Value>(_ name: String, _ read: (String) throws -> Value?) throws -> Value {
        guard let value = try read(name) else { throw refusal("expected \(name.foundText), found none") }
        return value
    }

    /// Reads a string, or an array of strings (RFC 7519 §4.1.3).
    package func stringOrStrings(_ name: String) throws -> [String]? {
        guard let value = members[name] else { return nil }
        guard let strings = value.stringOrStrings else {
            throw refusal(
                "expected \(name.foundText) to be a string or an array of strings, found \(members[name].foundStrings)")
        }
        return strings
    }

    /// - Parameter server: The server that names the URL; nil if only the caller knows it and itself calls
    ///   ``SecureURL/objection(namedBy:)``.
    package func url(_ name: String, namedBy server: SecureURL?) throws -> SecureURL? {
        guard let text = try nonEmptyString(name) else { return nil }
        let url: SecureURL
        do { url = try SecureURL(text, isTyped: false) } catch let error as AuthError {
            throw refusal("\(name.foundText): \(error.message)")
        }
        if let objection = server.flatMap(url.objection(namedBy:)) { throw refusal("\(name.foundText): \(objection)") }
        return url
    }

    /// Reads a time in seconds since 1970 (RFC 7519 §2, NumericDate).
    package func time(_ name: String) throws -> Date? {
        guard let value = members[name] else { return nil }
        guard let seconds = value.double, (0...Self.latestTime).contains(seconds) else {
            throw refusal(
                "expected \(name.foundText) to be a number of seconds since 1970, found \(members[name].foundNumber)")
        }
        return Date(timeIntervalSince1970: seconds)
    }

    /// Reads a time that nothing depends on: a number, or a string with one, as several servers send it. Returns nil
    /// for anything else.
    func informativeTime(_ name: String) -> Date? {
        guard let seconds = members[name].flatMap(Self.number), (0...Self.latestTime).contains(seconds) else {
            return nil
        }
        return Date(timeIntervalSince1970: seconds)
    }

    /// A number, or the number in a string.
    private static func number(_ value: JSON) -> Double? {
        value.double ?? value.string.flatMap { try? JSON(parsing: Array($0.utf8)) }?.double
    }

    /// Reads a lifetime in whole seconds: a number, or a string with one, as several servers send it.
    ///
    /// - Parameters:
    ///   - isClamped: Whether a number outside of the range means the nearest one in it.
    ///   - rounding: How a fraction is rounded.
    package func seconds(
        _ name: String, atLeast least: Int = 0, clamped isClamped: Bool = false,
        _ rounding: FloatingPointRoundingRule = .towardZero
    ) throws -> Int? {
        guard let value = members[nonEmpty: name] else { return nil }
        let range = Double(least)...Double(Self.longestLifetime)
        let found = Self.number(value).map { isClamped ? min(max(range.lowerBound, $0), range.upperBound) : $0 }
        guard let found, range.contains(found) else {
            let found = members[name].foundNumber
            throw refusal(
                "expected \(name.foundText) to be \(least) to \(Self.longestLifetime) seconds, found \(found)")
        }
        return Int(found.rounded(rounding))
    }
}

extension JSON {
    /// A string as an array of one, or an array of strings (RFC 7519 §4.1.3); nil for anything else, and if one of them
    /// cannot identify anything.
    var stringOrStrings: [String]? {
        let values = array ?? [self]
        let strings = values.compactMap(\.exactString)
        return strings.count == values.count ? strings : nil
    }
}
