/// Language selection by a browser's `Accept-Language` header (RFC 9110 §12.5.4).
enum AcceptLanguage {
    /// Returns the browser's preferred language, or nil if it accepts none. A range matches the languages that it names
    /// or is a prefix of (basic filtering, RFC 4647 §3.3.1). It also matches their general form: `de-AT` finds `de`.
    static func best(of languages: [String], for header: String) -> String? {
        var best: (language: String, quality: Double)?
        // Browsers send only a few languages. Ignore anything after 32.
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

    /// RFC 9110 §12.4.2: the default is 1. Returns nil for an invalid quality value.
    private static func quality(_ parameters: some Sequence<String>) -> Double? {
        guard let text = parameters.first(where: { $0.hasPrefix("q=") })?.dropFirst(2) else { return 1 }
        guard let value = Double(text), (0...1).contains(value) else { return nil }
        return value
    }
}
