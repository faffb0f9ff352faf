internal import ArgumentParser
internal import AppAuthTestProvider

@main
struct LocalProviderCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "local-provider",
        abstract: "An OpenID provider for this computer: prints its issuer and serves until it is told to end.",
        discussion: """
            The client 'demo' is public and takes any loopback redirect; 'demo-confidential' has a secret; alice can \
            sign in, and the page tells her password. Ends on SIGTERM and SIGINT.

            Pushed authorization requests, signed ones, signed responses (response_mode=jwt), DPoP and 'code id_token' \
            (by form_post) work as they are, and the metadata names them; options make the provider insist. A client \
            that signs brings its keys when it registers (RFC 7591).

            With --double it plays a vendor's server instead, and prints one line of JSON: base_url, and the clients, \
            people and passwords that the double knows.

            \(FaultArgument.help)
            """)

    @Option(name: .customLong("double"), help: "Play a vendor's server instead of the provider.")
    var vendor: VendorArgument?

    @Option(help: "The port; 0 for a free one.")
    var port: UInt16 = 0

    @Option(help: "The address: 127.0.0.1, ::1 or localhost.")
    var host = "127.0.0.1"

    @Option(help: ArgumentHelp("The issuer's path, for example /tenant.", valueName: "path"))
    var issuerPath = ""

    @Option(help: ArgumentHelp("How long access tokens are good.", valueName: "seconds"))
    var accessTokenLifetime: Int?

    @Flag(help: "Keep the refresh token at a refresh.")
    var noRotation = false

    @Option(help: ArgumentHelp("Somebody who can sign in, instead of alice.", valueName: "name:password"))
    var user: [UserArgument] = []

    @Option(
        help: ArgumentHelp("A client with any loopback redirect, beside the demo clients.", valueName: "id[:secret]"))
    var client: [ClientArgument] = []

    @Option(
        help: ArgumentHelp(
            "A redirect URI of the client 'demo', beside those on loopback, for example com.example.app:/callback.",
            valueName: "uri"))
    var redirectURI: [String] = []

    @Flag(help: "Take authorization requests only when they are pushed (RFC 9126).")
    var requirePAR = false

    @Flag(
        name: .customLong("require-dpop"),
        help: "Give the demo clients and those of --client no tokens but those bound to a DPoP key (RFC 9449).")
    var requireDPoP = false

    @Flag(help: "Ask for a nonce in DPoP proofs (RFC 9449 §8, §9).")
    var dpopNonce = false

    @Option(
        help: ArgumentHelp(
            "A type that authorization_details may have (RFC 9396), for example payment_initiation.",
            valueName: "type"))
    var authorizationDetailsType: [String] = []

    @Option(
        help: ArgumentHelp(
            "The acr that /api/echo asks for (RFC 9470); a sign-in with it in acr_values has it.", valueName: "acr"))
    var stepUp: String?

    @Option(
        help: ArgumentHelp("A fault that clients meet; see above for the names.", valueName: "name[@where][:times]"),
        transform: FaultArgument.init)
    var fault: [FaultArgument] = []

    @Flag(help: "End when standard input does, and so with a parent that holds it.")
    var exitWithStdin = false

    @Flag(name: .shortAndLong, help: "A line for each request on standard error, without values.")
    var verbose = false

    func validate() throws {
        if let accessTokenLifetime, accessTokenLifetime < 1 {
            throw ValidationError("expected an access token lifetime of a second or more, found \(accessTokenLifetime)")
        }
        guard vendor != nil else { return }
        let ofTheProvider = [
            "--issuer-path": !issuerPath.isEmpty, "--no-rotation": noRotation, "--user": !user.isEmpty,
            "--client": !client.isEmpty, "--require-par": requirePAR, "--require-dpop": requireDPoP,
            "--dpop-nonce": dpopNonce, "--authorization-details-type": !authorizationDetailsType.isEmpty,
            "--step-up": stepUp != nil, "--fault": !fault.isEmpty,
        ]
        let wrong = ofTheProvider.filter(\.value).keys.sorted()
        guard wrong.isEmpty else {
            throw ValidationError("expected no \(wrong.joined(separator: " and no ")) with --double")
        }
    }

    func run() async throws {
        // Before the first line is printed: its reader may send a signal at once.
        let end = EndOfService(withStandardInput: exitWithStdin)
        if let vendor {
            let double = try await vendor.start(doubleOptions, accessTokenLifetime: accessTokenLifetime)
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
        configuration.issuerPath = issuerPath
        if let accessTokenLifetime { configuration.accessTokenLifetime = accessTokenLifetime }
        configuration.rotatesRefreshTokens = !noRotation
        if !user.isEmpty { configuration.users = user.map(\.user) }
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
