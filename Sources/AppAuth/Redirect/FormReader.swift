/// Reads the form that a browser posts for `response_mode=form_post`, as it comes.
package struct FormReader: Sendable {
    private var form = ""
    private var missing: Int

    /// Where the reading stands.
    package enum Progress: Sendable, Hashable {
        case needsMore
        case form(String)
        case bad(RequestHead.Refusal)
    }

    /// - Parameter length: The number of bytes that are to come.
    package init(length: Int) { missing = length }

    /// Reads on; what comes behind the form is dropped, since a connection serves one request. Not to be called again
    /// after anything but ``Progress/needsMore``.
    package mutating func read(_ bytes: ArraySlice<UInt8>) -> Progress {
        for byte in bytes.prefix(missing) {
            // As in a query: everything else is encoded (WHATWG URL, application/x-www-form-urlencoded serializing).
            guard (0x21...0x7E).contains(byte) else { return .bad(.badRequest) }
            form.unicodeScalars.append(Unicode.Scalar(byte))
            missing -= 1
        }
        return missing == 0 ? .form(form) : .needsMore
    }
}

extension RequestHead {
    /// How many bytes of a form follow.
    ///
    /// - Throws: ``Refusal`` for what is no form, has no length of its own, or is too large.
    package func formLength(limit: Int) throws(Refusal) -> Int {
        // OAuth 2.0 Form Post Response Mode §2: the one type that there is. A parameter (charset) may follow.
        let type = (self["content-type"] ?? "").prefix { $0 != ";" }.lowercased()
        guard type.filter({ $0 != " " && $0 != "\t" }) == "application/x-www-form-urlencoded" else {
            throw .unsupportedMediaType
        }
        // RFC 9112 §6.3: browsers say how long a form is. What comes in chunks besides is how requests are smuggled.
        let lengths = fields.filter { $0.name == "content-length" }.map(\.value)
        guard self["transfer-encoding"] == nil, let text = lengths.first else { throw .lengthRequired }
        // RFC 9110 §8.6: digits; a second one that says otherwise is an attack, and one that says the same is no browser.
        guard lengths.count == 1, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            !text.isEmpty
        else { throw .badRequest }
        guard let length = Int(text), length <= limit else { throw .contentTooLarge }
        return length
    }
}
