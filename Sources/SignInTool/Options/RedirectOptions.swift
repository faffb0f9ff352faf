public import AppAuth
public import ArgumentParser

/// The options for the redirect URI.
struct RedirectOptions: ParsableArguments, Sendable {
    @Option(
        name: .customLong("redirect-port"), parsing: .unconditionalSingleValue,
        help: "A port to listen on. If given several times, the ports are tried in order.",
        transform: { try NumberOption.value($0, in: 0...UInt16.max) })
    var ports: [UInt16] = []
    @Option(
        name: .customLong("redirect-host"), parsing: .unconditional,
        help: "127.0.0.1, [::1], both, localhost (default: 127.0.0.1)")
    var host: LoopbackRedirectListener.Host?
    @Option(
        name: .customLong("redirect-path"), parsing: .unconditional,
        help: "The path of the redirect URI. (default: /callback)")
    var path: String?
    @Option(
        name: .customLong("redirect-uri"), parsing: .unconditional,
        help: "A redirect URI of a private-use scheme, instead of the three options above.")
    var uri: String?

    private var isChosen: Bool { uri != nil || host != nil || path != nil || !ports.isEmpty }

    /// Whether the options name a port.
    var namesPort: Bool { !ports.isEmpty }

    /// Returns the redirect URIs that the options name, to register them; nil if they name none.
    ///
    /// - Parameter issuer: The only issuer that may know them, as in ``redirect(registered:onlyOf:)``.
    func uris(onlyOf issuer: Issuer?) -> [String]? {
        guard isChosen else { return nil }
        func own(_ path: String) -> String { issuer?.redirectPath(for: path) ?? path }
        if let uri { return [own(uri)] }
        let path = own(path ?? Self.defaultPath)
        let hosts = host == .both ? ["127.0.0.1", "[::1]"] : [(host ?? .ipv4).defaultValueDescription]
        return hosts.flatMap { host in
            (ports.isEmpty ? [0] : ports).map { port in
                "http://\(host)\(port == 0 ? "" : ":\(port)")\(path)"
            }
        }
    }

    static let defaultPath = "/callback"

    /// Whether the kernel has chosen the port of a sign-in. It chooses ports from 32768: a lower one was an option.
    static func isChosenByKernel(_ port: UInt16) -> Bool { port >= 32768 }

    /// - Parameters:
    ///   - registered: The client's registered redirect URI, which counts if the options name none.
    ///   - issuer: The only issuer that may know the redirect URI (RFC 9700 §4.4.2); nil for a client that the user has
    ///     chosen.
    func redirect(registered: String?, onlyOf issuer: Issuer?) throws -> SignIn.Redirect {
        if !isChosen, let registered { return try SignIn.Redirect(registered: registered) }
        var redirect = SignIn.Redirect()
        func own(_ path: String) -> String { issuer?.redirectPath(for: path) ?? path }
        if let host { redirect.host = host }
        redirect.path = own(path ?? Self.defaultPath)
        if !ports.isEmpty { redirect.ports = ports }
        redirect.privateUse = try uri.map { try PrivateUseRedirect(ofSignIn: own($0)) }
        return redirect
    }

    func validate() throws {
        if let path, !RedirectPath.isValid(path) {
            throw ValidationError(
                "--redirect-path: expected a path that begins with /, without query, fragment and dots")
        }
        guard let uri else { return }
        guard let colon = uri.firstIndex(of: ":"), colon > uri.startIndex else {
            throw ValidationError("--redirect-uri: expected a URI such as com.example.app:/callback")
        }
        if !ports.isEmpty || host != nil || path != nil {
            throw ValidationError(
                "--redirect-uri cannot be combined with --redirect-port, --redirect-host and --redirect-path")
        }
    }
}

extension SignIn.Redirect {
    /// Creates the redirect of a client by its redirect URI.
    init(registered uri: String) throws {
        self.init()
        guard let loopback = try? SecureURL(uri), loopback.isLoopback,
            let host = LoopbackRedirectListener.Host(argument: loopback.host)
        else {
            privateUse = try PrivateUseRedirect(ofSignIn: uri)
            return
        }
        // The provider compares the whole URI, except perhaps the port.
        guard loopback.endsWithPath else {
            throw WrongUsage(
                "the registered redirect URI \(loopback.string) has no path, or has a query: register another")
        }
        (self.host, path, ports) = (host, loopback.path, [loopback.port ?? 0])
    }

    /// Returns the one of several redirect URIs that sign-ins use: the first loopback URI with a port, or else the first
    /// URI that they can use. The provider may compare ports: a registered port is always right.
    static func preferred(_ uris: [String]) -> String? {
        let usable = uris.filter { (try? SignIn.Redirect(registered: $0)) != nil }
        return usable.first { (try? SecureURL($0))?.port != nil } ?? usable.first
    }
}

extension PrivateUseRedirect {
    /// The command that the desktop runs when the browser opens the scheme.
    static let deliveringCommand = "deliver-redirect"

    init(ofSignIn uri: String) throws {
        try self.init(uri, appName: "sign-in", arguments: [Self.deliveringCommand])
    }
}

extension LoopbackRedirectListener.Host: ExpressibleByArgument {
    /// Parses the host as it is in a redirect URI.
    public init?(argument: String) {
        switch argument {
        case "127.0.0.1": self = .ipv4
        case "[::1]": self = .ipv6
        case "both": self = .both
        case "localhost": self = .localhost
        default: return nil
        }
    }

    /// The argument that ``init(argument:)`` parses.
    public var defaultValueDescription: String {
        switch self {
        case .ipv4: "127.0.0.1"
        case .ipv6: "[::1]"
        case .both: "both"
        case .localhost: "localhost"
        }
    }
}
