internal import AppAuthProtocol
internal import JOSE

/// A redirect URI with a private-use scheme (RFC 8252 §7.1).
package struct PrivateUseURI: Sendable, Hashable {
    package let string: String
    package let scheme: String
    /// Whether every URL of the scheme is accepted, and matched as a whole, with its fragment.
    let isWholeScheme: Bool

    /// Creates a redirect URI from its registered text. It is compared byte for byte, so it must be in a form that no
    /// browser rewrites.
    ///
    /// RFC 8252 §7.1 requires a scheme with a dot, the app's domain in reverse. A client that was registered with
    /// another scheme cannot change it on its own, so only schemes that belong to others are rejected.
    package init(_ text: String) throws {
        guard let scheme = Self.scheme(of: text) else {
            throw Self.refusal("in lower case, followed by a path without query, fragment and dots", text)
        }
        guard !Self.taken.contains(scheme) else {
            throw Self.refusal("that is the app’s own", scheme + ":")
        }
        // RFC 6749 §3.1.2: no fragment. RFC 8252 §7.1: `scheme:/path`. Older registrations also have a host.
        let rest = String(text.dropFirst(scheme.count + 1))
        guard RedirectPath.isValid(rest) else {
            throw Self.refusal("followed by a path without query, fragment and dots", text)
        }
        (string, self.scheme, isWholeScheme) = (text, scheme, false)
    }

    /// Accepts every URL of a scheme that is the app's own.
    package init(scheme text: String) throws {
        guard let scheme = Self.scheme(of: text + ":"), scheme.isExactly(text) else {
            throw Self.refusal("in lower case", text)
        }
        guard !Self.taken.contains(scheme) else { throw Self.refusal("that is the app’s own", scheme + ":") }
        (string, self.scheme, isWholeScheme) = (scheme + ":", scheme, true)
    }

    /// Returns what is matched of a URL that the desktop delivers: the query, as ``query(of:)`` returns it, or the whole
    /// URL if every URL of the scheme is accepted. Returns nil for another URL.
    func content(of url: String) -> String? {
        guard isWholeScheme else { return query(of: url) }
        // RFC 3986 §3.1: schemes do not depend on case.
        return url.utf8.prefix { $0 != UInt8(ascii: ":") }.elementsEqual(scheme.utf8) { $0 | 0x20 == $1 | 0x20 }
            ? url : nil
    }

    /// Returns the query of a URL that equals this redirect URI up to its query, undecoded and without its `?`. Returns
    /// nil for another URL.
    ///
    /// A fragment is dropped, as a browser drops it before it requests a loopback address.
    func query(of url: String) -> String? {
        let bytes = url.utf8.prefix { $0 != UInt8(ascii: "#") }
        guard bytes.starts(with: string.utf8) else { return nil }
        let rest = bytes.dropFirst(string.utf8.count)
        if rest.isEmpty { return "" }
        return rest.first == UInt8(ascii: "?") ? String(rest.dropFirst()) : nil
    }

    /// RFC 3986 §3.1, in lower case as browsers pass it on. Returns nil if the text does not begin with a scheme.
    static func scheme(of text: String) -> String? {
        let scheme = text.utf8.prefix { $0 != UInt8(ascii: ":") }
        guard let first = scheme.first, first.isASCIILowercase, scheme.count < text.utf8.count, scheme.count <= 128,
            scheme.allSatisfy({ $0.isASCIILowercase || $0.isASCIIDigit || "+-.".utf8.contains($0) })
        else { return nil }
        return String(scheme)
    }

    /// Schemes with a meaning in browsers and desktops. To handle one would take it from its owner.
    private static let taken: Set<String> = [
        "about", "apt", "blob", "bitcoin", "cid", "chrome", "chrome-extension", "data", "dav", "davs", "dns",
        "facetime",
        "feed", "file", "filesystem", "ftp", "ftps", "geo", "git", "gopher", "help", "http", "https", "im", "imap",
        "info",
        "intent", "irc", "ircs", "jar", "javascript", "ldap", "ldaps", "magnet", "mailto", "man", "mid", "mms",
        "moz-extension", "news", "nfs", "nntp", "openpgp4fpr", "otpauth", "pop", "resource", "rtsp", "sftp", "sip",
        "sips",
        "sms", "smb", "snap", "ssh", "stun", "svn", "tel", "telnet", "trash", "turn", "urn", "vbscript", "view-source",
        "vnc", "web", "webcal", "ws", "wss", "xmpp",
    ]

    private static func refusal(_ expected: String, _ found: String) -> AuthError {
        AuthError(.invalidConfiguration, .redirect, "expected a redirect URI with a scheme \(expected), found \(found)")
    }
}
