internal import JOSE

/// A URL in the form that is passed to a browser or an opener.
package enum OpenerURL {
    /// Percent-encodes every character that is neither unreserved (RFC 3986 §2.3) nor a delimiter that a URL needs.
    ///
    /// Openers pass the URL on to shells. For example, wslview puts it between double quotes for PowerShell, which
    /// would run `$(…)`. So do users who paste it into a command line, with or without quotes.
    package static func encoded(_ url: String) -> String {
        let hasEscapes = url.utf8.escapesAreComplete
        return url.percentEncoded {
            $0.isASCIIAlphanumeric || "-._~:/?#[]@&=+;,".utf8.contains($0) || hasEscapes && $0 == UInt8(ascii: "%")
        }
    }
}
