package import HTTPTypes
package import JOSE

/// Something that goes wrong when a test asks for it.
package enum Fault: Sendable {
    /// Answers later.
    case delay(Duration)
    /// Answers byte by byte, with a pause after each.
    case drip(every: Duration = .zero)
    /// Ends the connection after so many bytes of the response, head included.
    case cutOff(after: Int)
    /// Resets the connection after so many bytes of the response.
    case reset(after: Int = 0)
    /// Does what was asked, and closes the connection without a word.
    case lostResponse
    /// Does what was asked, once, and sends the response twice; the connection goes on.
    case duplicatedResponse
    /// Does nothing, and responds with this.
    case respond(Reply)
    /// Does what was asked, and responds with this.
    case respondAfterwards(Reply)
    /// Pads the body with spaces to this size; a JSON document stays valid.
    case oversize(bytes: Int)
    /// Sends a body that does not end.
    case endless
    /// Changes the JSON document of the response (metadata, keys, tokens, claims), also before userinfo is signed.
    case editDocument(@Sendable (inout JSON.Object) -> Void)
    /// Changes the ID token before it is signed, or how it is signed: at ``Endpoint/token``, or where an authorization
    /// answer with one is made, see ``editAuthorizationResponse(_:)``.
    case editIDToken(@Sendable (inout JWTDraft) -> Void)
    /// The same of an authorization response that is a signed token (JARM): at ``Endpoint/interaction`` where the person
    /// saw a page before, else at ``Endpoint/authorization``.
    case editAuthorizationResponse(@Sendable (inout JWTDraft) -> Void)
    /// Changes the response in any way.
    case editReply(@Sendable (inout Reply) -> Void)
    /// Several at once.
    case all([Fault])
}

extension Fault {
    /// Does nothing, and responds with a status: a short text, or an OAuth error where the body says so.
    package static func status(
        _ status: HTTPResponse.Status, _ headers: HTTPFields = [:], json: JSON? = nil
    ) -> Fault {
        var reply = json.map { Reply.json($0, status) } ?? .init(status, type: "text/plain", "\(status)\n")
        for field in headers { reply.headers[field.name] = field.value }
        return .respond(reply)
    }

    /// What an overloaded server says (RFC 9110 §10.2.3).
    package static func unavailable(retryAfter seconds: Int) -> Fault {
        .status(.serviceUnavailable, [.retryAfter: String(seconds)])
    }

    package static func tooManyRequests(retryAfter seconds: Int) -> Fault {
        .status(.tooManyRequests, [.retryAfter: String(seconds)])
    }

    /// A page where JSON is expected, as proxies and captive portals send it.
    package static let htmlPage = Fault.respond(
        Reply(.ok, type: "text/html; charset=utf-8", "<!doctype html><title>Welcome</title><p>Please log on."))

    /// Sends the client elsewhere, keeping the method (RFC 9110 §15.4.8).
    package static func redirect(to location: String) -> Fault { .status(.temporaryRedirect, [.location: location]) }

    var flattened: [Fault] { if case .all(let faults) = self { faults.flatMap(\.flattened) } else { [self] } }
}
