public import AppAuth
public import ArgumentParser
internal import Glibc

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

    @Option(
        name: .customLong("redirect-https"), parsing: .unconditional, help: .certificate, completion: .file())
    var certificateFile: String?
    @Option(name: .customLong("redirect-key"), parsing: .unconditional, help: .certificateKey, completion: .file())
    var keyFile: String?

    /// The certificate of an https redirect URI.
    var certificate: LoopbackRedirectListener.Certificate? { .init(file: certificateFile, key: keyFile) }

    private var isChosen: Bool { uri != nil || host != nil || path != nil || !ports.isEmpty }

    /// Whether the options name a port.
    var namesPort: Bool { !ports.isEmpty }

    /// Returns the redirect URIs that the options name, to register them; nil if they name none.
    ///
    /// - Parameter issuer: The only issuer that may know them, as in ``redirect(registered:onlyOf:)``.
    func uris(onlyOf issuer: Issuer?) -> [String]? {
        guard isChosen || certificate != nil else { return nil }
        func own(_ path: String) -> String { issuer?.redirectPath(for: path) ?? path }
        if let uri { return [own(uri)] }
        let path = own(path ?? Self.defaultPath)
        let hosts = host == .both ? ["127.0.0.1", "[::1]"] : [(host ?? .ipv4).defaultValueDescription]
        return hosts.flatMap { host in
            (ports.isEmpty ? [0] : ports).map { port in
                "\(certificate == nil ? "http" : "https")://\(host)\(port == 0 ? "" : ":\(port)")\(path)"
            }
        }
    }

    static let defaultPath = "/callback"

    /// The first port that the kernel chooses for a listener, unless the system has another setting.
    static let firstPortOfKernel: UInt16 = 32_768

    /// Whether the kernel has chosen the port of a sign-in. A lower one was an option, or is registered.
    static func isChosenByKernel(_ port: UInt16) -> Bool { port >= firstPortOfKernel }

    /// - Parameters:
    ///   - registered: The client's registered redirect URI, which counts if the options name none.
    ///   - issuer: The only issuer that may know the redirect URI (RFC 9700 §4.4.2); nil for a client that the user has
    ///     chosen.
    ///   - usual: The host, if the options name none.
    func redirect(
        registered: String?, onlyOf issuer: Issuer?, host usual: LoopbackRedirectListener.Host
    ) throws -> SignIn.Redirect {
        if !isChosen, let registered { return try SignIn.Redirect(registered: registered, certificate) }
        var redirect = SignIn.Redirect()
        redirect.certificate = certificate
        func own(_ path: String) -> String { issuer?.redirectPath(for: path) ?? path }
        redirect.host = host ?? usual
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
        if keyFile != nil, certificateFile == nil { throw ValidationError.keyWithoutCertificate }
        guard let uri else { return }
        guard let colon = uri.firstIndex(of: ":"), colon > uri.startIndex else {
            throw ValidationError("--redirect-uri: expected a URI such as com.example.app:/callback")
        }
        if !ports.isEmpty || host != nil || path != nil || certificateFile != nil {
            throw ValidationError(
                "--redirect-uri cannot be combined with --redirect-port, --redirect-host, --redirect-path and "
                    + "--redirect-https")
        }
    }
}

extension SignIn.Redirect {
    /// Creates the redirect of a client by its redirect URI, with the certificate for an https one.
    init(registered uri: String, _ certificate: LoopbackRedirectListener.Certificate?) throws {
        try self.init(registered: uri)
        guard certificate != nil || !uri.lowercased().hasPrefix("https:") else {
            throw WrongUsage(
                "the redirect URI \(uri.shownURL) needs a certificate: name it with --redirect-https, which a profile "
                    + "remembers")
        }
        self.certificate = certificate
    }

    /// Creates the redirect of a client by its redirect URI, without a certificate.
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

extension LoopbackRedirectListener.Certificate {
    /// - Parameters:
    ///   - file: The file of `--redirect-https`.
    ///   - key: The file of `--redirect-key`. By default, it is the file beside the certificate that mkcert has made for the
    ///     key, or else the certificate's own file.
    init?(file: String?, key: String?) {
        guard let file else { return nil }
        let beside = file.hasSuffix(".pem") ? file.dropLast(".pem".count) + "-key.pem" : file
        self.init(file: file, keyFile: key ?? (access(beside, F_OK) == 0 ? beside : nil))
    }
}

extension SignInLine {
    /// The certificate of an https redirect URI.
    var certificate: LoopbackRedirectListener.Certificate? {
        .init(file: value(of: "--redirect-https"), key: value(of: "--redirect-key"))
    }
}

extension ArgumentHelp {
    /// Of `--redirect-https`.
    static let certificate: ArgumentHelp =
        "A PEM file with a certificate that the browser trusts: the redirect URI begins with https then."
    /// Of `--redirect-key`.
    static let certificateKey: ArgumentHelp =
        "The PEM file with its private key. (default: NAME-key.pem beside NAME.pem, as mkcert names it, or the same file)"
}

extension ValidationError {
    static let keyWithoutCertificate = ValidationError("--redirect-key needs --redirect-https")
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
