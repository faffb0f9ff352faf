package import HTTPTypes
package import JOSE

/// A fault that a test can request.
package enum Fault: Sendable {
    /// Delays the response.
    case delay(Duration)
    /// Sends the response byte by byte, with a pause after each.
    case drip(every: Duration = .zero)
    /// Ends the connection after this many bytes of the response, including the head.
    case cutOff(after: Int)
    /// Resets the connection after this many bytes of the response.
    case reset(after: Int = 0)
    /// Processes the request, and closes the connection without a response.
    case lostResponse
    /// Processes the request once, and sends the response twice. The connection stays open.
    case duplicatedResponse
    /// Sends this response without processing the request.
    case respond(Reply)
    /// Processes the request, and sends this response instead.
    case respondAfterwards(Reply)
    /// Pads the body with spaces to this size. A JSON document stays valid.
    case oversize(bytes: Int)
    /// Sends a body that does not end.
    case endless
    /// Changes the JSON document of the response (metadata, keys, tokens, claims). Userinfo is changed before it is
    /// signed.
    case editDocument(@Sendable (inout JSON.Object) -> Void)
    /// Changes the ID token before it is signed, or the way it is signed: at ``Endpoint/token``, or at the endpoint of
    /// an authorization response that contains one, see ``editAuthorizationResponse(_:)``.
    case editIDToken(@Sendable (inout JWTDraft) -> Void)
    /// Changes a signed authorization response (JARM) in the same way: at ``Endpoint/interaction`` if the user saw a
    /// page before, otherwise at ``Endpoint/authorization``.
    case editAuthorizationResponse(@Sendable (inout JWTDraft) -> Void)
    /// Changes the response in any way.
    case editReply(@Sendable (inout Reply) -> Void)
    /// Several faults at once.
    case all([Fault])
}

extension Fault {
    /// Responds with a status without processing the request. The body is a short text, or the JSON if there is one.
    package static func status(
        _ status: HTTPResponse.Status, _ headers: HTTPFields = [:], json: JSON? = nil
    ) -> Fault {
        var reply = json.map { Reply.json($0, status) } ?? .init(status, type: "text/plain", "\(status)\n")
        for field in headers { reply.headers[field.name] = field.value }
        return .respond(reply)
    }

    /// The response of an overloaded server (RFC 9110 §10.2.3).
    package static func unavailable(retryAfter seconds: Int) -> Fault {
        .status(.serviceUnavailable, [.retryAfter: String(seconds)])
    }

    package static func tooManyRequests(retryAfter seconds: Int) -> Fault {
        .status(.tooManyRequests, [.retryAfter: String(seconds)])
    }

    /// An HTML page in place of JSON, as from a proxy or a captive portal.
    package static let htmlPage = Fault.respond(
        Reply(.ok, type: "text/html; charset=utf-8", "<!doctype html><title>Welcome</title><p>Please log on."))

    /// Redirects the client and keeps the method (RFC 9110 §15.4.8).
    package static func redirect(to location: String) -> Fault { .status(.temporaryRedirect, [.location: location]) }

    var flattened: [Fault] { if case .all(let faults) = self { faults.flatMap(\.flattened) } else { [self] } }
}
