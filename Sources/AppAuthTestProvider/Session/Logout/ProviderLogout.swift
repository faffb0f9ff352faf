internal import AppAuthConcurrency
internal import FoundationEssentials
internal import JOSE

/// The notification of a session's clients that it is over: with logout tokens (OpenID Connect Back-Channel Logout),
/// and with frames on the end-session page (Front-Channel Logout).
struct ProviderLogout {
    let context: Context
    let signIn: Browser.SignIn
    private let clients: [RegisteredClient]

    static let event = "http://schemas.openid.net/event/backchannel-logout"
    /// Back-Channel Logout §2.4: at most two minutes.
    private static let lifetime = 120

    /// - Parameter signIn: The session that is over. Its clients are those with a grant from it.
    init(_ signIn: Browser.SignIn, _ context: Context) {
        (self.signIn, self.context) = (signIn, context)
        let ids = context.store.withLock { records in
            Set(records.grants.values.filter { $0.sessionID == signIn.sessionID }.map(\.clientID))
        }
        clients = ids.sorted().compactMap(context.client)
    }

    static func describe(_ document: inout JSON.Object, _ context: Context) {
        for name in ["backchannel", "frontchannel"] {
            document["\(name)_logout_supported"] = true
            document["\(name)_logout_session_supported"] = true
        }
    }

    /// The URLs that a page shows in frames (Front-Channel Logout §2).
    var frames: [String] {
        clients.compactMap { client in
            client.frontchannelLogoutURI?.appending([
                ("iss", context.issuer.identifier), ("sid", signIn.sessionID),
            ])
        }
    }

    /// Sends logout tokens without waiting. A client that is unreachable misses its token (Back-Channel Logout §2.5).
    func send() throws {
        for client in clients {
            guard let uri = client.backchannelLogoutURI else { continue }
            let body = FormCoding.encode([("logout_token", try token(for: client))])
            Task { try? await context.ownClient.post(body, to: uri) }
        }
    }

    private func token(for client: RegisteredClient) throws -> String {
        let (now, algorithm) = (context.now, client.idTokenAlgorithm ?? context.configuration.idTokenAlgorithm)
        var draft = JWTDraft(
            header: ["typ": "logout+jwt", "kid": .string(try context.keys.signing(algorithm).kid)],
            claims: [
                "iss": .string(context.issuer.identifier), "sub": .string(signIn.subject), "aud": .string(client.id),
                "iat": .number(.init(now.seconds)), "exp": .number(.init(now.adding(Self.lifetime).seconds)),
                "jti": .string(try OpaqueToken.make()), "events": [Self.event: [:]],
                "sid": .string(signIn.sessionID),
            ], signature: .key(algorithm))
        for case .editIDToken(let edit) in context.faults { edit(&draft) }
        return try draft.serialized(context.keys)
    }
}
