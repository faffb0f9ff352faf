/// The rules for the listener's redirect paths. A path is valid if every browser sends it byte for byte.
package enum RedirectPath {
    package static func isValid(_ path: String) -> Bool {
        guard path.hasPrefix("/"), hasValidCharacters(path) else { return false }
        // The WHATWG URL standard resolves dot segments, plain or percent-encoded, before the request is sent.
        let segments = path.lowercased().split(separator: "/").map { $0.replacing("%2e", with: ".") }
        return !segments.contains(".") && !segments.contains("..")
    }

    /// Returns whether a path matches `path-abempty` of RFC 3986 §3.3.
    private static func hasValidCharacters(_ path: String) -> Bool {
        var rest = Array(path.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard rest.prefix(2).count == 2, rest.prefix(2).allSatisfy(\.isHexDigit) else { return false }
                rest = rest.dropFirst(2)
            } else if !byte.isPathCharacter {
                return false
            }
        }
        return true
    }
}

extension UInt8 {
    fileprivate var isHexDigit: Bool { Character(Unicode.Scalar(self)).isHexDigit }

    fileprivate var isPathCharacter: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~!$&'()*+,;=:@/".utf8.contains(self)
        }
    }
}
