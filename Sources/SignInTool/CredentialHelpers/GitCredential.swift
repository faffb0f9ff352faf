internal import AppAuth
internal import AppAuthProtocol
internal import JOSE

/// The attributes that git and a helper exchange, one in each line as `name=value`: see git-credential(1).
struct GitCredential {
    private var attributes: [(name: String, value: String)] = []
    /// The values of the names that end with `[]`, in their order.
    private var lists: [String: [String]] = [:]

    init() {}

    /// Parses the lines up to the first empty one, which ends the attributes.
    ///
    /// A name that occurs twice is refused, since programs differ in which value they take. Only names that end with `[]`
    /// can have several values. Lines end with a line feed alone, and no value has a control character: git has passed on
    /// carriage returns of a hostile URL (CVE-2024-52006).
    init(parsing text: [UInt8]) throws {
        for line in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            guard !line.isEmpty else { return }
            guard let end = line.firstIndex(of: UInt8(ascii: "=")), end > line.startIndex else {
                throw Self.refusal("expected lines with NAME=VALUE")
            }
            let name = String(decoding: line[..<end], as: UTF8.self)
            let value = line[(end + 1)...]
            guard !name.hasSuffix("[]") else {
                // An empty value ends the list so far.
                lists[name] = value.isEmpty ? [] : lists[name, default: []] + [String(decoding: value, as: UTF8.self)]
                continue
            }
            guard self[name] == nil else {
                throw Self.refusal("expected one value of \(name.foundText), found several")
            }
            guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
                throw Self.refusal("expected no control characters in the value of \(name.foundText)")
            }
            attributes.append((name, String(decoding: value, as: UTF8.self)))
        }
    }

    subscript(name: String) -> String? {
        get { attributes.first { $0.name == name }?.value }
        set { if let newValue { attributes.append((name, newValue)) } }
    }

    /// Whether the server takes tokens only as such (RFC 6750 §2.1), and git, from 2.46 on, can send them so.
    var isForBearer: Bool {
        let schemes = lists["wwwauth[]", default: []].flatMap(Challenge.challenges).map(\.scheme)
        return lists["capability[]", default: []].contains("authtype") && schemes.contains("bearer")
            && !schemes.contains("basic")
    }

    var text: String { attributes.map { "\($0.name)=\($0.value)\n" }.joined() }

    private static func refusal(_ message: String) -> AuthError {
        AuthError(.invalidConfiguration, .configuration, "the request of git: \(message.onOneLine)")
    }
}
