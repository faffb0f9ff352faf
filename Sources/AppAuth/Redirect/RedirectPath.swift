internal import JOSE

/// The rules for the listener's redirect paths. A path is valid if every browser sends it byte for byte.
package enum RedirectPath {
    package static func isValid(_ path: String) -> Bool {
        // `path-abempty` of RFC 3986 §3.3.
        guard path.hasPrefix("/"), path.utf8.allSatisfy(\.isPathCharacter), path.utf8.escapesAreComplete else {
            return false
        }
        // The WHATWG URL standard resolves dot segments, plain or percent-encoded, before the request is sent.
        let segments = path.lowercased().split(separator: "/").map { $0.replacing("%2e", with: ".") }
        return !segments.contains(".") && !segments.contains("..")
    }
}

extension UInt8 {
    fileprivate var isPathCharacter: Bool { isASCIIAlphanumeric || "-._~!$&'()*+,;=:@/%".utf8.contains(self) }
}
