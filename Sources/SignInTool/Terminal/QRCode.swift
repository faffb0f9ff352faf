internal import TerminalShims

/// A QR code for a terminal. Each character shows two modules, one above the other.
struct QRCode: Sendable {
    /// The width in modules, without the margin.
    let width: Int
    private let modules: [UInt8]

    /// The light margin that scanners need on each side (ISO/IEC 18004 §6.3.8).
    private static let margin = 4
    /// The number of modules in the largest code.
    private static let mostModules = 177 * 177

    /// Creates a code; nil if libqrencode is not installed or the text is too long.
    init?(_ text: String) {
        var modules = [UInt8](repeating: 0, count: Self.mostModules)
        width = Int(terminal_qr_code(text, &modules, modules.count))
        guard width > 0 else { return nil }
        self.modules = Array(modules.prefix(width * width))
    }

    var columns: Int { width + 2 * Self.margin }
    var rows: Int { (columns + 1) / 2 }

    /// Returns whether the stream is a terminal that can show the whole code in its colours, with these lines below it, and one
    /// to spare.
    func fits(_ stream: Console.Stream, with lines: [String]) -> Bool {
        guard variable("TERM") != "dumb" else { return false }
        let size = terminal_size(stream.rawValue)
        let columns = Int(size.columns)
        return columns >= self.columns && Int(size.rows) > rows + lines.rows(columns: columns)
    }

    /// The rows, in black on white. Themes do not change these color numbers, so that the code can be scanned on dark
    /// terminals too. `NO_COLOR` does not change them: they are no decoration.
    var lines: [String] {
        (0..<rows).map { row in
            let characters = (0..<columns).map { column in
                switch (isDark(column, 2 * row), isDark(column, 2 * row + 1)) {
                case (false, false): " "
                case (true, false): "▀"
                case (false, true): "▄"
                case (true, true): "█"
                }
            }
            return "\u{1B}[38;5;16;48;5;231m" + characters.joined() + "\u{1B}[0m"
        }
    }

    /// Returns whether a module is dark. The margin is light.
    private func isDark(_ column: Int, _ row: Int) -> Bool {
        let (x, y) = (column - Self.margin, row - Self.margin)
        guard (0..<width).contains(x), (0..<width).contains(y) else { return false }
        return modules[y * width + x] == 1
    }
}
