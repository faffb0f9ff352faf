internal import ArgumentParser
internal import JOSE

/// The titles of the options in the help of a sign-in. Groups with the same title are one section. Options without a title
/// come last, so the usual ones have one too.
enum OptionTitle {
    static let usual = "Usual options"
    static let provider = "Where"
    static let client = "Client"
    static let request = "Request"
    static let browser = "Browser"
    static let session = "Session"
    static let network = "Network and log"
}

/// The options of a sign-in that most users need.
struct UsualOptions: ParsableArguments, Sendable {
    @Option(
        parsing: .unconditional,
        help: "The provider’s issuer URL. On a terminal, 'sign-in login' asks for what is missing.")
    var issuer: String?
    @Option(
        parsing: .unconditional,
        help: """
            A provider that needs more than the standards, instead of --issuer: google, github, or entra:TENANT, where \
            TENANT is a tenant’s ID, organizations, consumers or common. Entra’s redirect host is localhost.
            """, completion: ProviderOptions.Preset.completion, transform: ProviderOptions.Preset.init(_:))
    var preset: ProviderOptions.Preset?
    @Option(
        name: .customLong("client-id"), parsing: .unconditional,
        help: "The client id. After 'sign-in register', 'sign-in login' needs none.")
    var clientID: String?
    @Option(
        parsing: .unconditional,
        help: """
            The scopes to request, separated by spaces. \
            (default: openid profile offline_access, as far as the provider lists them)
            """)
    var scope: String?
    @Option(
        parsing: .unconditionalSingleValue,
        help: """
            The resource that the access token is for (RFC 8707). Without --issuer, it is asked where to sign in (RFC \
            9728), and a client is registered there if none is known.
            """)
    var resource: [String] = []

    func validate() throws {
        // The parser takes the next word for the value, whatever it is.
        if let issuer, issuer.hasPrefix("-") {
            throw ValidationError("--issuer: expected a URL, found \(issuer.foundText)")
        }
        if clientID?.isEmpty == true { throw ValidationError("--client-id: expected a client id, found nothing") }
    }
}

/// The option for programs that run a sign-in.
struct OutputOptions: ParsableArguments, Sendable {
    @Flag(help: .json) var json = false
}
