internal import HTTPTypes

/// A request that was read whole and whose query is well formed.
struct Request: Sendable {
    let method: HTTPRequest.Method
    /// The path as it was sent, without the query.
    let path: String
    let query: Parameters
    /// The one Host field.
    let host: String
    let headers: HTTPFields
    let body: [UInt8]
    /// The certificate that the client showed on this connection, in DER.
    var certificate: [UInt8]?

    /// The form in the body; nil unless the content type says that it is one and it is well formed.
    var form: Parameters? {
        guard isForm, let text = String(validating: body, as: UTF8.self) else { return nil }
        return FormCoding.decode(text)
    }

    /// Whether the one Content-Type is that of a form, whatever its parameters.
    var isForm: Bool { contentType == "application/x-www-form-urlencoded" }

    /// Whether the one Content-Type is JSON, whatever its parameters.
    var isJSON: Bool { contentType == "application/json" }

    /// The one Content-Type in lower case, without parameters.
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
    /// Without spaces and tabs around it.
    var trimmingSpaces: Substring {
        var text = drop { $0 == " " || $0 == "\t" }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}
