package import HTTPTypes
package import JOSE

/// A response before it is serialized.
package struct Reply: Sendable {
    package var status: HTTPResponse.Status
    package var headers: HTTPFields
    package var body: [UInt8]

    package init(_ status: HTTPResponse.Status, _ headers: HTTPFields = [:], body: [UInt8] = []) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }

    package init(_ status: HTTPResponse.Status, type: String, _ body: String) {
        self.init(status, [.contentType: type], body: Array(body.utf8))
    }

    package static func json(_ document: JSON, _ status: HTTPResponse.Status = .ok) -> Reply {
        Reply(status, type: "application/json", document.serialized())
    }

    /// Redirects with 303, so that a POST becomes a GET and a password is never forwarded (RFC 9700 §4.12).
    static func redirect(to location: String) -> Reply {
        Reply(.seeOther, [.location: location, .cacheControl: "no-store", .referrerPolicy: "no-referrer"])
    }

    /// The reply with fields that prevent caching, as for every response with tokens (RFC 6749 §5.1).
    var notStored: Reply {
        var reply = self
        reply.headers[.cacheControl] = "no-store"
        reply.headers[.pragma] = "no-cache"
        return reply
    }
}

extension HTTPField.Name {
    private static func known(_ name: String) -> HTTPField.Name {
        guard let field = HTTPField.Name(name) else { preconditionFailure("\(name) is a valid field name") }
        return field
    }

    static let referrerPolicy = known("Referrer-Policy")
    static let dpop = known("DPoP")
    static let dpopNonce = known("DPoP-Nonce")
    static let pragma = known("Pragma")
    static let frameOptions = known("X-Frame-Options")
}

extension Reply {
    /// A 405 response (RFC 9110 §15.5.6).
    static func notAllowed(_ methods: String) -> Reply {
        var reply = Reply(.methodNotAllowed, type: "text/plain; charset=utf-8", "Expected \(methods).\n")
        reply.headers[.allow] = methods
        return reply
    }
}
