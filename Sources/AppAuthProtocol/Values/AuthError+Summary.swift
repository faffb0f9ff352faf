extension AuthError {
    /// Describes an error from the app's own code in one line for a message.
    ///
    /// Returns the error's own description if it has one, otherwise its type and case. The values of a type without a
    /// description are left out, because they may be secrets. So are the queries of URLs and words as long as a token.
    package static func summary(of error: any Error) -> String {
        let name = "\(type(of: error))"
        guard let described = error as? any CustomStringConvertible else {
            let mirror = Mirror(reflecting: error)
            guard mirror.displayStyle == .enum else { return name }
            return "\(name).\(mirror.children.first?.label ?? "\(error)")"
        }
        let words = described.description.onOneLine.shortened(to: 500).split(separator: " ").map { word in
            let shown = word.contains("://") ? word.prefix { $0 != "?" && $0 != "#" } : word
            let parts = shown.split { !($0.isLetter || $0.isNumber || "-_.~+=".contains($0)) }
            return parts.contains { $0.count > 32 } ? "…" : String(shown)
        }
        return words.isEmpty ? name : words.joined(separator: " ")
    }
}
