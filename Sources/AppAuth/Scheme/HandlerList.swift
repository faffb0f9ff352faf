/// The text of a `mimeapps.list`, of which one line says who handles a type (MIME Applications Associations 1.0).
///
/// xdg-mime can set that line and not take it away; the rest of the text stays as it is, byte for byte.
package struct HandlerList: Sendable, Hashable {
    private var lines: [Substring]

    package init(_ text: String) { lines = text.lines }

    package var text: String { lines.joined(separator: "\n") }

    /// Whether there is nothing in it.
    package var isEmpty: Bool { lines.allSatisfy(\.isBlank) }

    /// The entries that handle a type, separated by semicolons, the preferred one first; nil if none is named.
    package func handlers(of type: String) -> String? { line(of: type).map { String(lines[$0].value) } }

    /// Replaces what ``handlers(of:)`` returns; nil takes the line away, and the heading that nothing is left under.
    package mutating func set(_ handlers: String?, for type: String) {
        guard let line = line(of: type) else { return }
        if let handlers {
            lines[line] = "\(type)=\(handlers)\(lines[line].carriageReturn)"
            return
        }
        lines.remove(at: line)
        guard let heading = lines[..<line].lastIndex(where: \.isHeading) else { return }
        let end = lines[line...].firstIndex(where: \.isHeading) ?? lines.endIndex
        guard lines[(heading + 1)..<end].allSatisfy(\.isBlank) else { return }
        let isLast = end == lines.endIndex
        lines.removeSubrange(heading..<end)
        guard isLast else { return }
        // xdg-mime puts an empty line before a heading that it adds.
        if lines.last?.isBlank == true { lines.removeLast() }
        if !lines.isEmpty { lines.append("") }
    }

    private func line(of type: String) -> Int? {
        var isDefault = false
        for (index, line) in lines.enumerated() {
            if line.isHeading { isDefault = line.hasPrefix("[Default Applications]") }
            if isDefault, line.hasPrefix(type + "=") { return index }
        }
        return nil
    }
}

extension String {
    /// Its lines, empty ones as well. A line feed after a carriage return ends a line too, though the two are one `Character`.
    var lines: [Substring] {
        unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map(Substring.init)
    }
}

extension Substring {
    fileprivate var isHeading: Bool { hasPrefix("[") }
    fileprivate var isBlank: Bool { allSatisfy(\.isWhitespace) }
    fileprivate var value: Substring { drop { $0 != "=" }.dropFirst().dropLast(carriageReturn.count) }
    /// What is before the line feed, where lines end in both.
    fileprivate var carriageReturn: String { hasSuffix("\r") ? "\r" : "" }
}
