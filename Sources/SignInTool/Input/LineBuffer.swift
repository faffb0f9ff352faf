/// A buffer that splits bytes into lines. A terminal delivers each byte unedited, so for a terminal the buffer handles
/// the editing keys.
package struct LineBuffer {
    private enum Escape { case none, began, sequence }

    let isTyped: Bool
    /// The maximum length of a line. Further bytes are dropped, so that the reader can see that the line is too long.
    let limit: Int
    private var line: [UInt8] = []
    private var escape = Escape.none

    /// - Parameter isTyped: Whether the bytes come from a terminal.
    package init(isTyped: Bool, limit: Int) { (self.isTyped, self.limit) = (isTyped, limit) }

    /// Returns the lines that end in these bytes.
    package mutating func add(_ bytes: [UInt8]) -> [String] { bytes.compactMap { add($0) } }

    /// Returns the rest if the last line has no end.
    package mutating func end() -> String? { line.isEmpty ? nil : take() }

    private mutating func add(_ byte: UInt8) -> String? {
        if byte == UInt8(ascii: "\n") { return take() }
        guard isTyped else {
            if line.count < limit { line.append(byte) }
            return nil
        }
        switch (escape, byte) {
        case (.began, UInt8(ascii: "[")): escape = .sequence
        case (.began, _), (.sequence, 0x40...0x7E): escape = .none
        case (.sequence, _): break
        case (.none, 0x1B): escape = .began
        case (.none, 0x08), (.none, 0x7F): line.removeLast(min(1, line.count))
        // Ctrl-U.
        case (.none, 0x15): line = []
        case (.none, 0x00...0x1F): break
        case (.none, _): if line.count < limit { line.append(byte) }
        }
        return nil
    }

    private mutating func take() -> String {
        defer { (line, escape) = ([], .none) }
        return String(decoding: line, as: UTF8.self)
    }
}
