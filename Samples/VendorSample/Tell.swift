internal import Foundation

/// Prints a line at once, even into a pipe, and without control characters: much of a sample's output comes from a
/// server.
public func tell(_ line: String) {
    print(line.onOneLine)
    fflush(nil)
}

extension String {
    /// The text without control characters, line breaks and characters that reorder text.
    var onOneLine: String {
        String(
            String.UnicodeScalarView(
                unicodeScalars.map { scalar in
                    switch scalar.properties.generalCategory {
                    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: " "
                    default: scalar
                    }
                }))
    }
}
