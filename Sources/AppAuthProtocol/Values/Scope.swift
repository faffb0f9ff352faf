internal import JOSE

/// A scope value (RFC 6749 §3.3).
public struct Scope: RawRepresentable, Hashable, Sendable, Codable, ExpressibleByStringLiteral {
    /// The value as it is sent, for example `profile`.
    public let rawValue: String
    /// Creates a scope.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Creates a scope.
    public init(stringLiteral value: String) { rawValue = value }

    /// RFC 6749 §3.3: `scope-token = 1*( %x21 / %x23-5B / %x5D-7E )`.
    fileprivate var isWellFormed: Bool {
        !rawValue.isEmpty && rawValue.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
    }

    /// Requests an ID token, which makes the flow OpenID Connect (Core §3.1.2.1).
    public static let openID: Scope = "openid"
    /// Name, picture and other profile claims (Core §5.4).
    public static let profile: Scope = "profile"
    /// The email address (Core §5.4).
    public static let email: Scope = "email"
    /// The postal address (Core §5.4).
    public static let address: Scope = "address"
    /// The telephone number (Core §5.4).
    public static let phone: Scope = "phone"
    /// A refresh token, to stay signed in (Core §11). Most providers issue one only if the user consents. A request
    /// with this scope and without its own `prompt` therefore sends `prompt=consent`.
    public static let offlineAccess: Scope = "offline_access"
}

extension [Scope] {
    /// Splits a list with single spaces, as it is sent.
    public init(spaceDelimited text: String) {
        self = text.split(separator: " ").map { Scope(rawValue: String($0)) }
    }

    /// Splits a list that a server has sent, without the values that no request may have (RFC 6749 §3.3).
    package init(received text: String) { self = [Scope](spaceDelimited: text).filter(\.isWellFormed) }

    /// The list as it is sent; nil if it is empty.
    public var spaceDelimited: String? { isEmpty ? nil : map(\.rawValue).joined(separator: " ") }

    /// Returns the list with those values of another one that it lacks, each once.
    package func adding(_ others: [Scope]) -> [Scope] {
        others.reduce(into: self) { list, value in if !list.contains(value) { list.append(value) } }
    }

    /// Throws if a value is malformed (RFC 6749 §3.3): the server could split it differently and grant something else.
    package func check(for stage: AuthError.Stage) throws {
        guard let value = first(where: { !$0.isWellFormed }) else { return }
        throw AuthError(
            .invalidConfiguration, stage,
            "expected a scope value in visible ASCII without space, quote and backslash, found \(value.rawValue.foundText)"
        )
    }
}
