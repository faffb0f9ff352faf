internal import AppAuth

/// Rows of text in aligned columns, below a header.
struct Table {
    let header: [String]
    var rows: [[String]] = []
    /// Sentences for below the table.
    var remarks: [String] = []

    /// The lines, without spaces at their ends. A terminal emphasizes the header.
    var text: String {
        var lines = lines
        lines[0] = Console.styled(lines[0], .bold, on: .output)
        if !remarks.isEmpty { lines += [""] + remarks.map(\.onOneLine) }
        return lines.joined(separator: "\n")
    }

    private var lines: [String] {
        let all = [header] + rows.map { $0.map(\.withSingleBlanks) }
        let widths = header.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        return all.map { row in
            let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            let line = cells.joined(separator: "  ")
            return String(line[..<(line.lastIndex { $0 != " " }.map(line.index(after:)) ?? line.startIndex)])
        }
    }
}
