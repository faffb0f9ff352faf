public import FoundationEssentials

/// The claims about a user (OpenID Connect Core §5.1), from an ID token or the userinfo endpoint.
///
/// The standard claims have properties. Read all others by name. If a claim has the wrong JSON type or is empty, its
/// property is nil. If a provider has cut a text in the middle of a character, U+FFFD takes its place. Never identify a
/// user by such a text: two different ones may be equal.
///
/// ```swift
/// claims.name                  // "Jane Doe"
/// claims["groups"]?.strings    // ["staff"]
/// ```
public struct Claims: Sendable, Hashable, Codable {
    /// All claims, as the provider sent them.
    public let members: JSON.Object

    package init(_ members: JSON.Object) { self.members = members }

    /// A claim by its name; nil if it is missing or null.
    public subscript(name: String) -> JSON? { members[name] }

    /// The user's identifier (`sub`): unique at the issuer and never reassigned. Use it with the issuer as the key. It is
    /// nil if a character of it is broken (U+FFFD).
    public var subject: String? { self["sub"]?.exactString }
    /// The full name.
    public var name: String? { text("name") }
    /// The given names.
    public var givenName: String? { text("given_name") }
    /// The family names.
    public var familyName: String? { text("family_name") }
    /// The middle names.
    public var middleName: String? { text("middle_name") }
    /// The casual name.
    public var nickname: String? { text("nickname") }
    /// The name that the user prefers; neither unique nor permanent.
    public var preferredUsername: String? { text("preferred_username") }
    /// The URL of the profile page.
    public var profile: String? { text("profile") }
    /// The URL of a picture.
    public var picture: String? { text("picture") }
    /// The URL of a web page.
    public var website: String? { text("website") }
    /// The email address; neither unique nor permanent.
    public var email: String? { text("email") }
    /// Whether the provider verified that the address belongs to the user.
    public var isEmailVerified: Bool? { self["email_verified"]?.bool }
    /// The gender.
    public var gender: String? { text("gender") }
    /// The birthday as `YYYY-MM-DD`, `0000-MM-DD` or `YYYY`.
    public var birthdate: String? { text("birthdate") }
    /// The time zone, for example `Europe/Paris`.
    public var zoneInfo: String? { text("zoneinfo") }
    /// The language, for example `en-US`.
    public var locale: String? { text("locale") }
    /// The telephone number.
    public var phoneNumber: String? { text("phone_number") }
    /// Whether the provider verified that the number belongs to the user.
    public var isPhoneNumberVerified: Bool? { self["phone_number_verified"]?.bool }
    /// The parts of the postal address: `formatted`, `street_address`, `locality`, `region`, `postal_code`, `country`.
    public var address: JSON.Object? { self["address"]?.object }
    /// When the claims were last changed.
    public var updatedAt: Date? { date("updated_at") }

    /// Core §5.3.2: a claim that is not returned should be neither null nor empty. Some providers send it so.
    private func text(_ name: String) -> String? { members[nonEmpty: name]?.string }

    /// Reads a time in seconds since 1970 (RFC 7519 §2, NumericDate).
    func date(_ name: String) -> Date? { self[name]?.double.map(Date.init(timeIntervalSince1970:)) }

    /// Decodes the claims into a type of the app's own.
    ///
    /// ```swift
    /// struct Employee: Decodable { let sub: String, groups: [String] }
    /// let employee = try claims.decoded(as: Employee.self)
    /// ```
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidResponse``, which names the claim that is missing or has
    ///   another type.
    public func decoded<Value: Decodable>(as type: Value.Type) throws -> Value {
        try Value.decoded(from: Array(json.serialized().utf8)) { message in
            AuthError(.invalidResponse, .idToken, "the claims: \(message)")
        }
    }

    /// The claims as JSON.
    public var json: JSON { .object(members) }

    /// Decodes an object.
    public init(from decoder: any Decoder) throws {
        guard case .object(let members) = try JSON(from: decoder) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "expected an object of claims"))
        }
        self.init(members)
    }

    /// Encodes an object.
    public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}
