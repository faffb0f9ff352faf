/// A URL in the form that is passed to a browser or an opener.
enum OpenerURL {
    /// Percent-encodes every character that is neither unreserved (RFC 3986 §2.3) nor a delimiter that a URL needs.
    ///
    /// Openers pass the URL on to shells. For example, wslview puts it between double quotes for PowerShell, which
    /// would run `$(…)`.
    static func encoded(_ url: String) -> String {
        var result = ""
        var rest = Array(url.utf8)[...]
        while let byte = rest.popFirst() {
            let isEscape =
                byte == UInt8(ascii: "%") && rest.prefix(2).count == 2 && rest.prefix(2).allSatisfy(isHexDigit)
            if isEscape || isHarmless(byte) {
                result.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                result.unicodeScalars += ["%", hexDigits[Int(byte >> 4)], hexDigits[Int(byte & 15)]]
            }
        }
        return result
    }

    private static let hexDigits = Array("0123456789ABCDEF".unicodeScalars)

    private static func isHexDigit(_ byte: UInt8) -> Bool { Character(Unicode.Scalar(byte)).isHexDigit }

    private static func isHarmless(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~:/?#[]@&=+;,".utf8.contains(byte)
        }
    }
}
