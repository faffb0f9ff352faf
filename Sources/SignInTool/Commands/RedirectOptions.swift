internal import AppAuth
internal import ArgumentParser

/// The options for the redirect URI.
struct RedirectOptions: ParsableArguments, Sendable {
    @Option(
        name: .customLong("redirect-port"), parsing: .unconditionalSingleValue,
        help: "A port to listen on. If given several times, the ports are tried in order.")
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

    /// The redirect URIs that the options name, to register them; nil if they name none.
    var uris: [String]? {
        guard isChosen else { return nil }
        if let uri { return [uri] }
        let hosts = host == .both ? ["127.0.0.1", "[::1]"] : [(host ?? .ipv4).defaultValueDescription]
        return hosts.flatMap { host in
            (ports.isEmpty ? [0] : ports).map { port in
                "http://\(host)\(port == 0 ? "" : ":\(port)")\(path ?? "/callback")"
            }
        }
    }

    /// - Parameter uris: The client's registered redirect URIs, which count if the options name none.
    func redirect(registered uris: [String]?) throws -> SignIn.Redirect {
        guard isChosen else { return try SignIn.Redirect(registered: uris) }
        var redirect = SignIn.Redirect()
        if let host { redirect.host = host }
        if let path { redirect.path = path }
        if !ports.isEmpty { redirect.ports = ports }
        redirect.privateUse = try uri.map(PrivateUseRedirect.init(ofSignIn:))
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
    /// Creates the redirect of a client by its registered redirect URIs: the first loopback URI with a port, or else the
    /// first URI.
    init(registered uris: [String]?) throws {
        self.init()
        // The provider may compare ports: a registered port is always right.
        let hasPort = { (uri: String) in
            (try? SecureURL(uri)).map { $0.isLoopback && $0.port != nil } ?? false
        }
        guard let uri = uris?.first(where: hasPort) ?? uris?.first else { return }
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
}

extension PrivateUseRedirect {
    fileprivate init(ofSignIn uri: String) throws {
        try self.init(uri, appName: "sign-in", arguments: [DeliveredRedirect._commandName])
    }
}
