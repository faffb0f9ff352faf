/// The text of a `mimeapps.list` or `mimeinfo.cache`, in which one line names the handlers of a type (MIME Applications
/// Associations 1.0).
///
/// The rest of the text stays unchanged, byte for byte.
package struct HandlerList: Sendable, Hashable {
    private var lines: [Substring]

    package init(_ text: String) { lines = text.lines }

    package var text: String { lines.joined(separator: "\n") }

    /// Whether the text is blank.
    package var isEmpty: Bool { lines.allSatisfy(\.isBlank) }

    /// Returns the entries that handle a type, separated by semicolons, the preferred one first. Returns nil if the
    /// list has no line for the type.
    package func handlers(of type: String) -> String? { line(of: type).map { String(lines[$0].value) } }

    /// Sets the value of ``handlers(of:)``. Nil removes the line, and its heading if that is then empty.
    package mutating func set(_ handlers: String?, for type: String) {
        guard let line = line(of: type) else {
            if let handlers { add("\(type)=\(handlers)") }
            return
        }
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
        // An empty line is inserted before a heading that is added, here and by xdg-mime.
        if lines.last?.isBlank == true { lines.removeLast() }
        if !lines.isEmpty { lines.append("") }
    }

    private static let heading = "[Default Applications]"

    private mutating func add(_ line: String) {
        if let heading = lines.lastIndex(where: { $0.hasPrefix(Self.heading) }) {
            return lines.insert(Substring(line + lines[heading].carriageReturn), at: heading + 1)
        }
        if lines.last?.isEmpty == true { lines.removeLast() }
        lines += [lines.isEmpty ? nil : "", Self.heading[...], line[...], ""].compactMap(\.self)
    }

    private func line(of type: String) -> Int? {
        var isDefault = false
        for (index, line) in lines.enumerated() {
            if line.isHeading { isDefault = line.hasPrefix(Self.heading) || line.hasPrefix("[MIME Cache]") }
            if isDefault, line.hasPrefix(type + "=") { return index }
        }
        return nil
    }
}

extension String {
    /// The lines, including empty ones. A line feed after a carriage return also ends a line, although Swift makes the
    /// two one `Character`.
    var lines: [Substring] {
        unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map(Substring.init)
    }
}

extension Substring {
    fileprivate var isHeading: Bool { hasPrefix("[") }
    fileprivate var isBlank: Bool { allSatisfy(\.isWhitespace) }
    fileprivate var value: Substring { drop { $0 != "=" }.dropFirst().dropLast(carriageReturn.count) }
    /// The carriage return before the line feed, if lines end in both.
    fileprivate var carriageReturn: String { hasSuffix("\r") ? "\r" : "" }
}
