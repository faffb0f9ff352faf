/// Chooses a language by a browser's `Accept-Language` (RFC 9110 §12.5.4).
enum AcceptLanguage {
    /// The one of the languages that the browser likes best: a range chooses the languages that it names or is a prefix
    /// of (basic filtering, RFC 4647 §3.3.1), and also their general form, so that `de-AT` finds `de`. Nil if it
    /// accepts none of them.
    static func best(of languages: [String], for header: String) -> String? {
        var best: (language: String, quality: Double)?
        // A browser sends a handful; what comes after 32 is nobody's preference.
        for item in header.split(separator: ",").prefix(32) {
            let parts = item.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard let range = parts.first, let quality = quality(parts.dropFirst()) else { continue }
            guard quality > best?.quality ?? 0 else { continue }
            if let language = languages.first(where: { fits($0.lowercased(), range) }) { best = (language, quality) }
        }
        return best?.language
    }

    private static func fits(_ language: String, _ range: String) -> Bool {
        range == "*" || range == language || language.hasPrefix(range + "-") || range.hasPrefix(language + "-")
    }

    /// RFC 9110 §12.4.2: 1 where nothing is said. Nil for what is no quality.
    private static func quality(_ parameters: some Sequence<String>) -> Double? {
        guard let text = parameters.first(where: { $0.hasPrefix("q=") })?.dropFirst(2) else { return 1 }
        guard let value = Double(text), (0...1).contains(value) else { return nil }
        return value
    }
}
