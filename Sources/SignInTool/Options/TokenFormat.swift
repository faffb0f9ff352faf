internal import AppAuth
internal import ArgumentParser
internal import FoundationEssentials

/// How `sign-in token` prints the token for other programs.
enum TokenFormat: String, ExpressibleByArgument, CaseIterable, Sendable {
    case token, header, env, xoauth2, oauthbearer

    /// Whether the format names the user.
    var hasUser: Bool { self == .xoauth2 || self == .oauthbearer }

    /// - Parameters:
    ///   - variable: The name of the environment variable.
    ///   - user: The mail account; not used by the other formats.
    func text(_ token: String, variable: String, user: String) -> String {
        switch self {
        case .token: token
        case .header: "Authorization: Bearer \(token)"
        // A bearer token and an ID token have no character that cannot be quoted.
        case .env: "export \(variable)=\(token.quotedForShell ?? "")"
        // Google's and Microsoft's form, from before RFC 7628.
        case .xoauth2: Self.base64("user=\(user)\u{1}auth=Bearer \(token)\u{1}\u{1}")
        // RFC 7628 §3.1, with the name as in RFC 5801 §4.
        case .oauthbearer: Self.base64("n,a=\(Self.saslName(user)),\u{1}auth=Bearer \(token)\u{1}\u{1}")
        }
    }

    private static func base64(_ text: String) -> String { Data(text.utf8).base64EncodedString() }

    private static func saslName(_ name: String) -> String {
        name.replacing { $0 == "=" ? "=3D" : $0 == "," ? "=2C" : nil }
    }
}
