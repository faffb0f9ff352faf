/// The functions of 7Pass beyond OpenID Connect.
struct SevenPassAddition: ProviderAddition {
    let facebook: Facebook
    let deliveries = Deliveries()
    let optIns = OptIns()

    private static let locations: [String: Endpoint] = [
        "/api/accounts/me": .me, "/api/accounts/me/optins": .optIns, "/api/client/checkMail": .checkMail,
        "/api/client/checkPassword": .checkPassword, "/api/client/registration": .registration,
    ]

    func endpoint(at path: String, _ issuer: Issuer) -> Endpoint? {
        guard path.hasPrefix(issuer.path + "/") else { return nil }
        let rest = String(path.dropFirst(issuer.path.count))
        switch rest {
        case "/externals/callback": return .externalCallback
        case "/facebook/dialog": return .facebookDialog
        case "/facebook/app": return .facebookApp
        default: break
        }
        return rest.hasPrefix("/api/accounts/me/optins/") ? .optIns : Self.locations[rest]
    }

    /// As at 7Pass's QA system, with its servers `op.qa`, `sso.qa` and `interaction.qa`, and Facebook.
    ///
    /// Addresses, because browsers send cookies to every port of a host: only another host has cookies of its own. All of
    /// 127.0.0.0/8 is loopback on Linux (RFC 1122 §3.2.1.3). With `localhost` and its subdomains, it would depend on the
    /// resolver and on the browser whether they are loopback.
    var addresses: [Role: String] { [.api: "127.0.0.2", .interaction: "127.0.0.3", .external: "127.0.0.4"] }

    func role(of endpoint: Endpoint) -> Role {
        switch endpoint {
        case .me, .optIns, .checkMail, .checkPassword, .registration: .api
        case .interaction, .externalCallback: .interaction
        case .facebookDialog, .facebookApp: .external
        default: .issuer
        }
    }

    func respond(to request: Request, at endpoint: Endpoint, _ context: Context) throws -> Reply? {
        switch endpoint {
        case .me: try AccountEndpoint(context: context).respond(to: request)
        case .optIns: try OptInsEndpoint(context: context, optIns: optIns).respond(to: request)
        case .checkMail, .checkPassword, .registration:
            try CredentialsEndpoint(context: context).respond(to: request, at: endpoint)
        case .externalCallback:
            try ExternalCallbackEndpoint(context: context, facebook: facebook, deliveries: deliveries)
                .respond(to: request)
        case .facebookDialog, .facebookApp:
            FacebookEndpoints(context: context, facebook: facebook).respond(to: request, at: endpoint)
        default: nil
        }
    }

    // MARK: Grants

    var grantTypes: [String] { [SocialGrant.type, "password"] }

    func tokens(
        _ grantType: String, _ form: Parameters, _ client: RegisteredClient, _ context: Context
    ) throws -> TokenReply {
        if grantType == SocialGrant.type {
            return try SocialGrant(context: context, facebook: facebook).issue(form, client)
        }
        return try PasswordGrant(context: context, nameParameter: "login").issue(form, client)
    }

    // MARK: Signing in

    /// Checks 7Pass's own parameters: `utm_campaign` is free text, and `fbapp_pres` says whether a Facebook app is
    /// present.
    func check(_ parameters: Parameters) throws(OAuthFailure) {
        guard ["0", "1", nil].contains(parameters["fbapp_pres"]) else {
            throw .invalidRequest("expected an fbapp_pres of 0 or 1")
        }
    }

    /// A button for users, and a field for programs that fill in forms: they set `provider` to `facebook`.
    ///
    /// Only for apps that send `fbapp_pres`, since only they receive Facebook's responses. That is the double's choice.
    func choice(_ words: Phrases, for request: AuthorizationRequest, _ context: Context) -> SignInChoice? {
        guard request.parameters["fbapp_pres"] != nil else { return nil }
        return SignInChoice(
            html: """
                <input type="hidden" name="provider" value="">
                <button class="link" type="submit" name="action" value="facebook" formnovalidate>\
                \(words.goOn(with: "Facebook"))</button>
                """,
            sources: ["fbauth2:", Pages.source(of: context.origin(of: .external))])
    }

    func take(_ form: Parameters, _ interaction: Interaction, _ context: Context) throws -> Reply? {
        guard form["action"] == "facebook" || form["provider"] == "facebook",
            interaction.request.parameters["fbapp_pres"] != nil
        else { return nil }
        let state = try deliveries.begin(interaction)
        let query = facebook.query(state: state)
        let hasApp = interaction.request.parameters["fbapp_pres"] == "1"
        let dialog = context.origin(of: .external) + "/facebook/dialog"
        return .redirect(to: (hasApp ? Facebook.appURL : dialog).appending(query))
    }
}

extension Endpoint {
    /// The endpoint `me/optins`, and each opt-in below it.
    package static let optIns = Endpoint(rawValue: "optIns")
    package static let checkMail = Endpoint(rawValue: "checkMail")
    package static let checkPassword = Endpoint(rawValue: "checkPassword")
    package static let registration = Endpoint(rawValue: "registration")
    /// The endpoint to which the client delivers the response of Facebook.
    package static let externalCallback = Endpoint(rawValue: "externalCallback")
    /// The web dialog of the double's Facebook.
    package static let facebookDialog = Endpoint(rawValue: "facebookDialog")
    /// The simulated Facebook app of a desktop.
    package static let facebookApp = Endpoint(rawValue: "facebookApp")
}
