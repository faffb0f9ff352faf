internal import JOSE

/// An incremental reader for the form that a browser posts with `response_mode=form_post`.
package struct FormReader: Sendable {
    private var form = ""
    private var missing: Int

    /// - Parameter length: The number of bytes to read.
    package init(length: Int) { missing = length }

    /// Reads bytes and returns the form, or nil if it needs more. Input after the form is discarded, since a connection
    /// serves one request. Do not call it again unless it has returned nil.
    package mutating func read(_ bytes: ArraySlice<UInt8>) throws(RequestHead.Refusal) -> String? {
        for byte in bytes.prefix(missing) {
            // As in a query, all other bytes are percent-encoded (WHATWG URL, application/x-www-form-urlencoded
            // serializing).
            guard (0x21...0x7E).contains(byte) else { throw .badRequest }
            form.unicodeScalars.append(Unicode.Scalar(byte))
            missing -= 1
        }
        return missing == 0 ? form : nil
    }
}

extension RequestHead {
    /// Returns the length of the form in bytes.
    ///
    /// - Throws: ``Refusal`` if the body is not a form, states no length, or is too large.
    package func formLength(limit: Int) throws(Refusal) -> Int {
        // OAuth 2.0 Form Post Response Mode §2 allows only this type. A parameter (charset) may follow.
        let type = (self["content-type"] ?? "").prefix { $0 != ";" }.lowercased()
        guard type.filter({ $0 != " " && $0 != "\t" }) == "application/x-www-form-urlencoded" else {
            throw .unsupportedMediaType
        }
        // RFC 9112 §6.3: browsers state the length of a form. Additional chunking is a request smuggling technique.
        let lengths = fields.filter { $0.name == "content-length" }.map(\.value)
        guard self["transfer-encoding"] == nil, let text = lengths.first else { throw .lengthRequired }
        // RFC 9110 §8.6: only digits. No browser sends a second length, and a different one is an attack.
        guard lengths.count == 1, text.utf8.allSatisfy(\.isASCIIDigit),
            !text.isEmpty
        else { throw .badRequest }
        guard let length = Int(text), length <= limit else { throw .contentTooLarge }
        return length
    }
}
