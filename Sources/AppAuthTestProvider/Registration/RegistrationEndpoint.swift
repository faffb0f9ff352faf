internal import AppAuthConcurrency
internal import FoundationEssentials
internal import HTTPTypes
internal import JOSE

/// The registration endpoint (RFC 7591 §3, OpenID Connect Registration §3).
struct RegistrationEndpoint {
    let context: Context

    func respond(to request: Request) throws -> Reply {
        guard let options = context.configuration.registration else {
            return Pages(context: context).error("Clients are registered by hand here.", .notFound)
        }
        guard request.method == .post else { return .notAllowed("POST") }
        do {
            try Self.check(request, against: options.initialAccessToken)
            return try register(try request.document(), options)
        } catch let failure as OAuthFailure {
            return failure.reply
        }
    }

    private static func check(_ request: Request, against token: String?) throws(OAuthFailure) {
        guard let token else { return }
        guard let found = request.bearer, constantTimeEqual(found, token) else {
            throw .invalidToken("expected the initial access token")
        }
    }

    private func register(_ sent: JSON.Object, _ options: DynamicRegistration) throws -> Reply {
        let (now, id) = (context.now, try OpaqueToken.make())
        let submitted = try SubmittedMetadata(sent, options, context)
        var client = DynamicClient(
            client: submitted.client(id), metadata: submitted.registered, issuedAt: now,
            accessToken: try OpaqueToken.make())
        try client.renewCredentials(options, now)
        context.registrations.withLock { $0[id] = client }
        return .json(context.edited(client.document(context.issuer)), .created).notStored
    }
}

extension Request {
    /// Returns the JSON object in the body.
    func document() throws(OAuthFailure) -> JSON.Object {
        guard isJSON, let object = try? JSON(parsing: body).object else {
            throw .clientMetadata("expected a JSON object with the Content-Type application/json")
        }
        return object
    }

    /// The token of the only Authorization field (RFC 6750 §2.1).
    var bearer: String? {
        let fields = headers[values: .authorization]
        guard fields.count == 1, let parts = fields.first?.split(separator: " ", maxSplits: 1), parts.count == 2,
            parts[0].lowercased() == "bearer"
        else { return nil }
        return String(parts[1])
    }
}

extension OAuthFailure {
    /// The error for invalid metadata (RFC 7591 §3.2.2).
    static func clientMetadata(_ description: String) -> OAuthFailure {
        OAuthFailure("invalid_client_metadata", description)
    }

    /// The error for an invalid token (RFC 6750 §3.1).
    static func invalidToken(_ description: String) -> OAuthFailure {
        var failure = OAuthFailure("invalid_token", description)
        failure.status = .unauthorized
        failure.challenge = #"Bearer realm="local-provider", error="invalid_token""#
        return failure
    }
}
