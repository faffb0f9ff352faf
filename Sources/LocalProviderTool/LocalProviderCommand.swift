internal import ArgumentParser
internal import JOSE
internal import AppAuthTestProvider

@main
struct LocalProviderCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "local-provider",
        abstract: "An OpenID provider for this computer. Prints its issuer and runs until it is stopped.",
        discussion: """
            The client 'demo' is public and accepts any loopback redirect. The client 'demo-confidential' has a \
            secret. The user alice can sign in; the login page shows her password. SIGTERM and SIGINT end the program.

            Pushed authorization requests, signed ones, signed responses (response_mode=jwt), DPoP and 'code id_token' \
            (by form_post) work without options, and the metadata lists them. Options make them mandatory. \
            A client that signs sends its keys when it registers (RFC 7591).

            With --double, the program simulates a vendor's server instead. It prints one line of JSON with \
            base_url and the clients, users and passwords. --user replaces the users of seven-pass, ffs and opro. \
            --client adds a client to seven-pass, which --redirect-uri limits to these URIs, and to opro. Without \
            --client, --redirect-uri adds a URI to the clients that seven-pass has.

            \(FaultArgument.help)
            """)

    @Option(name: .customLong("double"), help: "Simulate a vendor's server instead of the provider.")
    var vendor: VendorArgument?

    @Option(help: "The port; 0 for a free one.")
    var port: UInt16 = 0

    @Option(help: "The address: 127.0.0.1, ::1 or localhost.")
    var host = "127.0.0.1"

    @Option(help: ArgumentHelp("The certificate for https, in PEM; with --key.", valueName: "path"))
    var certificate: String?

    @Option(help: ArgumentHelp("The private key of the certificate, in PEM.", valueName: "path"))
    var key: String?

    @Option(help: ArgumentHelp("The issuer's path, for example /tenant.", valueName: "path"))
    var issuerPath = ""

    @Option(help: ArgumentHelp("The lifetime of access tokens. (default: 3600)", valueName: "seconds"))
    var accessTokenLifetime: Int?

    @Flag(help: "Do not replace the refresh token at a refresh.")
    var noRotation = false

    @Option(
        help: ArgumentHelp(
            "The time for which a used refresh token is accepted; 10 by default. Later, its use ends the session.",
            valueName: "seconds"))
    var gracePeriod: Int?

    @Option(help: ArgumentHelp("A user who can sign in, instead of alice.", valueName: "name:password"))
    var user: [UserArgument] = []

    @Option(help: ArgumentHelp("The claim picture of each user, instead of the provider's own.", valueName: "url"))
    var picture: String?

    @Option(
        help: ArgumentHelp("An additional client, with any loopback redirect.", valueName: "id[:secret]"))
    var client: [ClientArgument] = []

    @Option(
        help: ArgumentHelp(
            "An additional redirect URI of the client 'demo', or as above with --double seven-pass.",
            valueName: "uri"))
    var redirectURI: [String] = []

    @Flag(help: "No token can delete its user, as at oPRO's own demo; with --double opro.")
    var keepUsers = false

    @Flag(help: "Accept only pushed authorization requests (RFC 9126).")
    var requirePAR = false

    @Flag(
        name: .customLong("require-dpop"),
        help: "Issue only tokens bound to a DPoP key to the demo clients and those of --client (RFC 9449).")
    var requireDPoP = false

    @Flag(help: "Require a nonce in DPoP proofs (RFC 9449, sections 8 and 9).")
    var dpopNonce = false

    @Option(
        help: ArgumentHelp(
            "A type that authorization_details may have (RFC 9396), for example payment_initiation.",
            valueName: "type"))
    var authorizationDetailsType: [String] = []

    @Option(
        help: ArgumentHelp(
            "The acr that /api/echo requires (RFC 9470). A sign-in gets it with acr_values.", valueName: "acr"))
    var stepUp: String?

    @Option(
        help: ArgumentHelp("A fault to simulate; the names are listed above.", valueName: "name[@where][:times]"),
        transform: FaultArgument.init)
    var fault: [FaultArgument] = []

    @Flag(help: "End when standard input ends, for example when the parent process ends.")
    var exitWithStdin = false

    @Flag(name: .shortAndLong, help: "Log each request to standard error, without values.")
    var verbose = false

    func validate() throws {
        if let accessTokenLifetime, accessTokenLifetime < 1 {
            throw ValidationError("expected an access token lifetime of 1 second or more, found \(accessTokenLifetime)")
        }
        if let gracePeriod, gracePeriod < 0 {
            throw ValidationError("expected a grace period of 0 seconds or more, found \(gracePeriod)")
        }
        guard (certificate == nil) == (key == nil) else {
            throw ValidationError("expected --certificate and --key together, found one of them")
        }
        if let wrong = redirectURI.first(where: { !RedirectURI.exact($0).matches($0) }) {
            throw ValidationError("expected an absolute redirect URI without a fragment, found '\(wrong)'")
        }
        try expectNoTwins()
        guard let vendor else {
            if keepUsers { throw ValidationError("expected --keep-users only with --double opro") }
            return
        }
        let given = [
            "--certificate": certificate != nil, "--issuer-path": !issuerPath.isEmpty, "--no-rotation": noRotation,
            "--grace-period": gracePeriod != nil,
            "--user": !user.isEmpty, "--redirect-uri": !redirectURI.isEmpty,
            "--picture": picture != nil, "--client": !client.isEmpty, "--require-par": requirePAR,
            "--require-dpop": requireDPoP, "--dpop-nonce": dpopNonce,
            "--authorization-details-type": !authorizationDetailsType.isEmpty, "--step-up": stepUp != nil,
            "--fault": !fault.isEmpty, "--keep-users": keepUsers,
        ]
        let wrong = Set(given.filter(\.value).keys).subtracting(vendor.registrationOptions).sorted()
        guard wrong.isEmpty else {
            throw ValidationError("expected no \(wrong.joined(separator: " and no ")) with --double \(vendor.rawValue)")
        }
        if vendor == .opro, let client = client.first(where: { $0.client.secret == nil })?.client {
            throw ValidationError("expected --client \(client.id):SECRET, since oPRO has no clients without a secret")
        }
    }

    /// Of two clients with the same ID, or users with the same name, the server would know only one.
    private func expectNoTwins() throws {
        let own = vendor == nil ? LocalProvider.Configuration.demo.clients.map(\.id) : []
        for (option, what, names) in [
            ("--client", "ID", own + client.map(\.client.id)), ("--user", "name", user.map(\.user.name)),
        ] {
            if let twin = names.first(where: { name in names.count { $0 == name } > 1 }) {
                throw ValidationError("expected a different \(what) for each \(option), found '\(twin)' twice")
            }
        }
    }

    func run() async throws {
        // Before the first line is printed: its reader may send a signal at once.
        let end = await EndOfService(withStandardInput: exitWithStdin)
        if let vendor {
            let double = try await vendor.start(
                doubleOptions, accessTokenLifetime: accessTokenLifetime,
                .init(
                    clients: client.map(\.client), redirectURIs: redirectURI, users: user.map(\.user),
                    keepsUsers: keepUsers))
            Output.line(double.announcement)
            await end.wait()
            return await double.stop()
        }
        let provider = try await LocalProvider.start(providerConfiguration, host: host, port: Int(port))
        for fault in fault { fault.begin(at: provider) }
        Output.line(provider.issuer)
        await end.wait()
        await provider.stop()
    }

    private var providerConfiguration: LocalProvider.Configuration {
        var configuration = LocalProvider.Configuration.demo
        if let certificate, let key { configuration.tls = TLSFiles(certificate: certificate, key: key) }
        configuration.issuerPath = issuerPath
        if let accessTokenLifetime { configuration.accessTokenLifetime = accessTokenLifetime }
        configuration.rotatesRefreshTokens = !noRotation
        // Most providers have such a period, since a response can be lost.
        configuration.refreshTokenGracePeriod = gracePeriod ?? 10
        if !user.isEmpty { configuration.users = user.map(\.user) }
        if let picture {
            for index in configuration.users.indices { configuration.users[index].claims["picture"] = .string(picture) }
        }
        for index in configuration.clients.indices where configuration.clients[index].id == RegisteredClient.demo.id {
            configuration.clients[index].redirectURIs += redirectURI.map { .exact($0) }
        }
        configuration.clients += client.map(\.client)
        extend(&configuration)
        configuration.keepsLog = false
        if verbose { configuration.observer = { Output.errorLine($0.redacted) } }
        return configuration
    }

    /// Applies the options beyond OpenID Connect Core.
    private func extend(_ configuration: inout LocalProvider.Configuration) {
        configuration.requiresPushedRequests = requirePAR
        for index in configuration.clients.indices { configuration.clients[index].requiresDPoP = requireDPoP }
        if dpopNonce { configuration.dpopNonce = .required() }
        configuration.authorizationDetailsTypes = authorizationDetailsType
        configuration.resourceDescription = ResourceDescription()
        if let stepUp {
            configuration.acrValues.append(stepUp)
            configuration.authenticationRequirements = [.api: .init(acrValues: [stepUp])]
        }
    }

    private var doubleOptions: DoubleOptions {
        var options = DoubleOptions()
        (options.host, options.port, options.keepsLog) = (host, Int(port), false)
        if verbose { options.observer = { Output.errorLine($0.redacted) } }
        return options
    }

    /// Runs the command as the parser's own entry point does, but exits with 2 instead of 64 for wrong usage.
    static func main() async {
        do {
            let command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                var command = command
                try command.run()
            }
        } catch {
            let code = exitCode(for: error)
            let text = fullMessage(for: error)
            if code.isSuccess { Output.text(text) } else { Output.errorLine(text) }
            Output.exit(code == .validationFailure ? 2 : code.rawValue)
        }
    }
}
