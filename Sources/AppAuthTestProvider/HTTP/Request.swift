package import HTTPTypes

/// A complete request with a well-formed query.
package struct Request: Sendable {
    package let method: HTTPRequest.Method
    /// The path as it was sent, without the query.
    package let path: String
    let query: Parameters
    /// The value of the only Host field.
    let host: String
    package let headers: HTTPFields
    let body: [UInt8]
    /// The certificate that the client presented on this connection, in DER.
    var certificate: [UInt8]?

    /// The form in the body; nil if the content type is another, or the body is malformed.
    var form: Parameters? {
        guard isForm, let text = String(validating: body, as: UTF8.self) else { return nil }
        return FormCoding.decode(text)
    }

    /// Whether the only Content-Type is that of a form, with any parameters.
    var isForm: Bool { contentType == "application/x-www-form-urlencoded" }

    /// Whether the only Content-Type is JSON, with any parameters.
    var isJSON: Bool { contentType == "application/json" }

    /// The only Content-Type in lower case, without parameters.
    private var contentType: String? {
        let types = headers[values: .contentType]
        guard types.count == 1, let type = types.first?.split(separator: ";").first else { return nil }
        return type.trimmingSpaces.lowercased()
    }

    func cookie(_ name: String) -> String? {
        headers[values: .cookie].flatMap { $0.split(separator: ";") }.lazy
            .map(\.trimmingSpaces).first { $0.hasPrefix(name + "=") }
            .map { String($0.dropFirst(name.count + 1)) }
    }
}

extension Substring {
    /// The text without spaces and tabs at its ends.
    var trimmingSpaces: Substring {
        var text = drop { $0 == " " || $0 == "\t" }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}
