internal import JOSE

extension String {
    /// The string as one word of a shell command.
    var quotedForShell: String {
        let isPlain = utf8.allSatisfy { $0.isASCIIAlphanumeric || "_@%+=:,./-".utf8.contains($0) }
        return isPlain && !isEmpty ? self : "'" + replacing("'", with: "'\\''") + "'"
    }
}
