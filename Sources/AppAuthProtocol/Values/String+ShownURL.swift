internal import JOSE

extension String {
    /// A URL for people, openers and browsers: every character is percent-encoded that is neither unreserved (RFC 3986 §2.3)
    /// nor a delimiter that a URL needs.
    ///
    /// Openers pass URLs on to shells. For example, wslview puts them between double quotes for PowerShell, which would run
    /// `$(…)`. Users paste them into command lines, with or without quotes. Only `&`, between parameters, means something
    /// to a shell then.
    package var shownURL: String {
        let hasEscapes = utf8.escapesAreComplete
        return percentEncoded {
            $0.isASCIIAlphanumeric || "-._~:/?#[]@&=+,".utf8.contains($0) || hasEscapes && $0 == UInt8(ascii: "%")
        }
    }
}
