internal import AppAuthProtocol

/// The desktop entry that starts the app with a URL of its scheme (Desktop Entry Specification 1.5).
package struct DesktopEntry: Sendable, Hashable {
    package var appName: String
    /// The program and its arguments. The desktop appends the URL.
    package var handler: [String]
    package var scheme: String
    /// Whether the entry is removed at the end of the wait, or by a later process if its creator has died.
    package var isTemporary: Bool
    /// The previous handlers of the scheme in `mimeapps.list`, restored when the entry is removed.
    package var replaced: String?

    package init(appName: String, handler: [String], scheme: String, isTemporary: Bool, replaced: String?) {
        (self.appName, self.handler, self.scheme) = (appName, handler, scheme)
        (self.isTemporary, self.replaced) = (isTemporary, replaced)
    }

    package var text: String {
        """
        [Desktop Entry]
        Type=Application
        Name=\(Self.escaped(appName.onOneLine))
        Exec=\(Self.escaped(handler.map(Self.quoted).joined(separator: " "))) %u
        NoDisplay=true
        MimeType=x-scheme-handler/\(scheme);
        \(Self.installationKey)=\(isTemporary ? Self.temporary : "permanent")
        \(Self.replacedKey)=\(replaced ?? "")

        """
    }

    /// Returns the library's notes in an entry, or nil if the entry is not the library's.
    package static func notes(in text: String) -> (isTemporary: Bool, replaced: String?)? {
        func value(_ key: String) -> String? {
            text.lines.first { $0.hasPrefix(key + "=") }.map { String($0.dropFirst(key.count + 1)) }
        }
        guard let installation = value(installationKey) else { return nil }
        return (installation == temporary, value(replacedKey).flatMap { $0.isEmpty ? nil : $0 })
    }

    private static let installationKey = "X-AppAuth-Installation"
    private static let replacedKey = "X-AppAuth-Replaced"
    private static let temporary = "while-waiting"

    /// "The Exec key": an argument with a reserved character is quoted, and a percent sign is doubled.
    private static func quoted(_ argument: String) -> String {
        let argument = argument.replacing { $0 == "%" ? "%%" : nil }
        let reserved = " \t\n\"'\\><~|&;$*?#()`".unicodeScalars
        guard argument.isEmpty || argument.unicodeScalars.contains(where: reserved.contains) else { return argument }
        return "\"\(argument.replacing { "\"`$\\".unicodeScalars.contains($0) ? "\\\($0)" : nil })\""
    }

    /// "Possible value types": string escapes, applied after those of the command.
    private static func escaped(_ value: String) -> String { value.replacing { $0 == "\\" ? "\\\\" : nil } }
}
