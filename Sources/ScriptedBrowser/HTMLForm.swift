/// The first form of a page. It supports enough HTML for plain login and consent pages.
struct HTMLForm {
    let action: String
    let isGet: Bool
    /// The fields that are sent, with their initial values, and the first button.
    let fields: [(name: String, value: String)]
    /// The names of the fields in which a user types.
    let typed: [String]
    /// The name of the first field for a password.
    let password: String?

    /// Parses a page; nil if it has no form.
    init?(in page: String) {
        guard let start = page.firstRange(of: "<form") else { return nil }
        let rest = page[start.lowerBound...]
        let form = rest[..<(rest.firstRange(of: "</form>")?.lowerBound ?? rest.endIndex)]
        let tags = form.split(separator: "<").map { HTMLTag($0.prefix { $0 != ">" }) }
        action = tags.first?["action"] ?? ""
        isGet = (tags.first?["method"] ?? "get").lowercased() == "get"
        var fields: [(name: String, value: String)] = []
        var typed: [String] = []
        var password: String?
        var hasButton = false
        for tag in tags {
            guard let name = tag["name"] else { continue }
            let type = tag["type"]?.lowercased()
            if tag.name == "button" || (tag.name == "input" && type == "submit") {
                if hasButton { continue }
                hasButton = true
            } else if tag.name != "input" || ((type == "checkbox" || type == "radio") && tag["checked"] == nil) {
                continue
            }
            fields.append((name, tag["value"] ?? ""))
            guard tag.name == "input", !["hidden", "submit", "checkbox", "radio"].contains(type) else { continue }
            typed.append(name)
            if type == "password" { password = password ?? name }
        }
        (self.fields, self.typed, self.password) = (fields, typed, password)
    }
}

/// A tag with its attributes.
private struct HTMLTag {
    let name: String
    private var attributes: [String: String] = [:]

    subscript(name: String) -> String? { attributes[name] }

    init(_ text: Substring) {
        var rest = text
        name = String(rest.prefix { !$0.isWhitespace && $0 != "/" }).lowercased()
        rest = rest.dropFirst(name.count)
        while true {
            rest = rest.drop { $0.isWhitespace || $0 == "/" }
            let attribute = rest.prefix { !$0.isWhitespace && $0 != "=" && $0 != "/" }
            guard !attribute.isEmpty else { return }
            rest = rest[attribute.endIndex...].drop(while: \.isWhitespace)
            attributes[attribute.lowercased()] = ""
            guard rest.first == "=" else { continue }
            rest = rest.dropFirst().drop(while: \.isWhitespace)
            let quote = rest.first.flatMap { $0 == "\"" || $0 == "'" ? $0 : nil }
            if quote != nil { rest = rest.dropFirst() }
            let value = rest.prefix { character in quote.map { $0 != character } ?? !character.isWhitespace }
            rest = rest[value.endIndex...]
            if quote != nil { rest = rest.dropFirst() }
            attributes[attribute.lowercased()] = HTMLText.unescape(value)
        }
    }
}

/// The text in HTML.
enum HTMLText {
    /// Returns what a page shows, as far as plain pages go: without tags, comments, styles and scripts.
    static func text(of page: String) -> String {
        let hidden = /<!--.*?-->|<(style|script|title)\b.*?<\/\1>|<[^>]*>/.dotMatchesNewlines().ignoresCase()
        let shown = unescape(page.replacing(hidden, with: " "))
        return shown.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    static func unescape(_ text: some StringProtocol) -> String {
        // The ampersand last, so that nothing is unescaped twice.
        let entities = [
            ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&#x27;", "'"), ("&#34;", "\""),
            ("&nbsp;", " "), ("&amp;", "&"),
        ]
        return entities.reduce(String(text)) { text, entity in text.replacing(entity.0, with: entity.1) }
    }
}
