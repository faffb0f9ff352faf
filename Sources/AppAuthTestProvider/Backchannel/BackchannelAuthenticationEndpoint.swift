internal import AppAuthConcurrency
internal import FoundationEssentials
internal import JOSE

/// The backchannel authentication endpoint (CIBA Core §7), in poll mode.
struct BackchannelAuthenticationEndpoint {
    let context: Context

    private static let longestMessage = 64

    func respond(to request: Request) throws -> Reply {
        try FormEndpoint(context: context).respond(to: request) { form, client in
            // §7.1: the client authenticates.
            guard !client.isPublic, client.grantTypes.contains(GrantType.backchannel) else {
                throw OAuthFailure("unauthorized_client", "the client may not use this grant_type")
            }
            let user = try user(form)
            try check(form, user)
            let scopes = try scopes(form["scope"], client)
            let (id, lifetime) = (try OpaqueToken.make(), try lifetime(form["requested_expiry"]))
            let (now, interval) = (context.now, context.configuration.devicePollingInterval)
            let waiting = BackchannelRequest(
                client: client, user: user, scopes: scopes, bindingMessage: form["binding_message"],
                expiresAt: now.adding(lifetime), pace: PollingPace(interval: interval))
            context.store.withLock { records in
                records.prune(now)
                records.backchannel[id] = waiting
            }
            return .json(
                context.edited([
                    "auth_req_id": .string(id), "expires_in": .number(.init(lifetime)),
                    "interval": .number(.init(interval)),
                ]))
        }
    }

    static func describe(_ document: inout JSON.Object, _ context: Context) {
        document["backchannel_authentication_endpoint"] = .string(context.issuer.url(.backchannelAuthentication))
        document["backchannel_token_delivery_modes_supported"] = ["poll"]
        document["backchannel_user_code_parameter_supported"] = true
    }

    /// Returns the user that the request's only hint names (§7.1).
    private func user(_ form: Parameters) throws(OAuthFailure) -> User {
        let hints = ["login_hint", "login_hint_token", "id_token_hint"].filter { form[$0] != nil }
        guard hints.count == 1, let name = hints.first, let value = form[name] else {
            throw .invalidRequest("expected exactly one of login_hint, login_hint_token and id_token_hint")
        }
        let found: User?
        switch name {
        case "login_hint":
            found = context.people.withLock { $0.first { $0.name == value || $0.claims["email"]?.string == value } }
        case "id_token_hint":
            guard let hint = IDTokenHint(value, context) else {
                throw .invalidRequest("expected an id_token_hint of this provider")
            }
            found = context.user(subject: hint.subject)
        default:
            throw .invalidRequest("expected a login_hint or an id_token_hint: login_hint_token is not supported")
        }
        guard let found else { throw OAuthFailure("unknown_user_id", "no user matches this hint") }
        return found
    }

    private func check(_ form: Parameters, _ user: User) throws(OAuthFailure) {
        if let message = form["binding_message"] {
            // §7.1: short, and plain text only.
            guard message.count <= Self.longestMessage, !message.contains(where: \.isNewline) else {
                throw OAuthFailure("invalid_binding_message", "expected a binding_message of at most 64 characters")
            }
        }
        guard let code = user.backchannelCode else { return }
        guard let given = form["user_code"] else { throw OAuthFailure("missing_user_code", "expected a user_code") }
        guard constantTimeEqual(given, code) else { throw OAuthFailure("invalid_user_code", "the user_code is wrong") }
    }

    private func scopes(_ text: String?, _ client: RegisteredClient) throws(OAuthFailure) -> [String] {
        let wanted = (text ?? "").split(separator: " ").map(String.init)
        // §7.1: openid is REQUIRED.
        guard wanted.contains("openid") else { throw OAuthFailure("invalid_scope", "expected the scope openid") }
        return Metadata.scopes.filter { scope in
            wanted.contains(scope) && (scope != "offline_access" || client.grantTypes.contains("refresh_token"))
        }
    }

    private func lifetime(_ wanted: String?) throws(OAuthFailure) -> Int {
        let longest = context.configuration.deviceCodeLifetime
        guard let wanted else { return longest }
        guard let seconds = Int(wanted), seconds > 0 else {
            throw .invalidRequest("expected requested_expiry to be a positive number of seconds")
        }
        return min(seconds, longest)
    }
}
