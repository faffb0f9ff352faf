public import HTTPTypes
public import JOSE

extension LocalProvider {
    /// Something that goes wrong at an endpoint, on request.
    ///
    /// ```swift
    /// provider.fault(.oauthError("invalid_grant"), at: .token, grantType: "refresh_token")
    /// provider.fault(.all([.delay(.seconds(2)), .lostResponse]), at: .token)
    /// provider.fault(.editDocument { $0["expires_in"] = 1 }, at: .token, times: nil)
    /// ```
    public struct Fault: Sendable {
        enum Effect: Sendable {
            case delay(Duration)
            /// Sends this response without processing the request.
            case respond(Reply)
            case editDocument(@Sendable (inout JSON.Object) -> Void)
            case editIDToken(@Sendable (inout JWTDraft) -> Void)
            case editAuthorizationResponse(@Sendable (inout JWTDraft) -> Void)
            case editReply(@Sendable (inout Reply) -> Void)
            case deliver(Delivery)
        }

        let effects: [Effect]
    }
}

// MARK: Time and connection

extension LocalProvider.Fault {
    /// Delays the response.
    public static func delay(_ duration: Duration) -> Self { Self(effects: [.delay(duration)]) }

    /// Sends the response byte by byte, with a pause after each.
    public static func drip(every pause: Duration = .zero) -> Self { Self(effects: [.deliver(.drip(every: pause))]) }

    /// Ends the connection after this many bytes of the response, including the head.
    public static func cutOff(after count: Int) -> Self { Self(effects: [.deliver(.cutOff(after: count))]) }

    /// Resets the connection after this many bytes of the response.
    public static func reset(after count: Int = 0) -> Self { Self(effects: [.deliver(.reset(after: count))]) }

    /// Processes the request, and closes the connection without a response.
    public static var lostResponse: Self { cutOff(after: 0) }

    /// Processes the request once, and sends the response twice. The connection stays open.
    public static var duplicatedResponse: Self { Self(effects: [.deliver(.twice)]) }

    /// Sends a body that does not end.
    public static var endless: Self { Self(effects: [.deliver(.endless)]) }
}

// MARK: Responses without processing the request

extension LocalProvider.Fault {
    /// Responds with an OAuth error (RFC 6749 §5.2).
    public static func oauthError(_ code: String, _ status: HTTPResponse.Status = .badRequest) -> Self {
        .status(status, [.cacheControl: "no-store"], json: ["error": .string(code)])
    }

    /// Responds with a status. The body is a short text, or the JSON if there is one.
    public static func status(
        _ status: HTTPResponse.Status, _ headers: HTTPFields = [:], json: JSON? = nil
    ) -> Self {
        var reply = json.map { Reply.json($0, status) } ?? .init(status, type: "text/plain", "\(status)\n")
        for field in headers { reply.headers[field.name] = field.value }
        return .respond(reply)
    }

    /// Responds as an overloaded server does (RFC 9110 §10.2.3).
    public static func unavailable(retryAfter seconds: Int) -> Self {
        .status(.serviceUnavailable, [.retryAfter: String(seconds)])
    }

    /// Responds as a server does that limits the rate of requests (RFC 6585 §4).
    public static func tooManyRequests(retryAfter seconds: Int) -> Self {
        .status(.tooManyRequests, [.retryAfter: String(seconds)])
    }

    /// Responds with an HTML page in place of JSON, as a proxy or a captive portal does.
    public static var htmlPage: Self {
        .respond(Reply(.ok, type: "text/html; charset=utf-8", "<!doctype html><title>Welcome</title><p>Please log on."))
    }

    /// Redirects the client and keeps the method (RFC 9110 §15.4.8).
    public static func redirect(to location: String) -> Self { .status(.temporaryRedirect, [.location: location]) }

    package static func respond(_ reply: Reply) -> Self { Self(effects: [.respond(reply)]) }
}

// MARK: Changed responses

extension LocalProvider.Fault {
    /// Changes the JSON document of the response (metadata, keys, tokens, claims). Userinfo is changed before it is
    /// signed.
    public static func editDocument(_ edit: @escaping @Sendable (inout JSON.Object) -> Void) -> Self {
        Self(effects: [.editDocument(edit)])
    }

    /// Pads the body with spaces to this size. A JSON document stays valid.
    public static func oversize(bytes: Int) -> Self {
        .editReply { reply in
            reply.body += [UInt8](repeating: UInt8(ascii: " "), count: max(0, bytes - reply.body.count))
        }
    }

    /// Causes several faults at once.
    public static func all(_ faults: [Self]) -> Self { Self(effects: faults.flatMap(\.effects)) }

    /// Changes the ID token before it is signed, or the way it is signed: at the token endpoint, or at the endpoint of
    /// an authorization response that contains one, see ``editAuthorizationResponse(_:)``.
    package static func editIDToken(_ edit: @escaping @Sendable (inout JWTDraft) -> Void) -> Self {
        Self(effects: [.editIDToken(edit)])
    }

    /// Changes a signed authorization response (JARM) in the same way: at ``LocalProvider/Endpoint/interaction`` if the
    /// user saw a page before, otherwise at ``LocalProvider/Endpoint/authorization``.
    package static func editAuthorizationResponse(_ edit: @escaping @Sendable (inout JWTDraft) -> Void) -> Self {
        Self(effects: [.editAuthorizationResponse(edit)])
    }

    /// Changes the response in any way.
    package static func editReply(_ edit: @escaping @Sendable (inout Reply) -> Void) -> Self {
        Self(effects: [.editReply(edit)])
    }

    /// Processes the request, and sends this response instead.
    package static func respondAfterwards(_ reply: Reply) -> Self { .editReply { $0 = reply } }
}
