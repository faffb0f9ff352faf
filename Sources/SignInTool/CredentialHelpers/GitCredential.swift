internal import AppAuth

/// The attributes that git and a helper exchange, one in each line as `name=value`: see git-credential(1).
struct GitCredential {
    private var attributes: [(name: String, value: String)] = []

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
            guard !name.hasSuffix("[]") else { continue }
            guard self[name] == nil else { throw Self.refusal("expected one value of '\(name)', found several") }
            let value = line[(end + 1)...]
            guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
                throw Self.refusal("expected no control characters in the value of '\(name)'")
            }
            attributes.append((name, String(decoding: value, as: UTF8.self)))
        }
    }

    subscript(name: String) -> String? {
        get { attributes.first { $0.name == name }?.value }
        set { if let newValue { attributes.append((name, newValue)) } }
    }

    var text: String { attributes.map { "\($0.name)=\($0.value)\n" }.joined() }

    private static func refusal(_ message: String) -> AuthError {
        AuthError(
            .invalidConfiguration, .configuration, "the request of git: \(message.onOneLine)", outcome: .notSent)
    }
}
