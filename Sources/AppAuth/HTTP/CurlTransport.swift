internal import AppAuthConcurrency
public import AppAuthProtocol
internal import CShims

/// An HTTP transport that uses the system's libcurl. It is the default unless an app provides its own.
///
/// ```swift
/// let transport = CurlTransport()
/// let response = try await transport.send(TransportRequest(request))
/// ```
///
/// The transport supports only http and https, with TLS 1.2 or newer and with HTTP/2 if the server offers it. It does
/// not follow redirects and does not use cookies or `.netrc`. It enforces the limits for time and size against any
/// server, also for compressed responses.
///
/// A request that may not be repeated is sent over a connection of its own, at most once. Other requests share
/// kept connections, and may be sent again if a kept connection turns out to be closed (RFC 9110 §9.2.2).
///
/// The first request loads libcurl and starts one thread, which runs all requests of the transport concurrently and
/// ends when the transport is released. Keep one transport, since it reuses connections. If the task of a request is
/// cancelled, the transfer ends.
public final class CurlTransport: HTTPTransport {
    /// The configuration of a transport.
    public struct Configuration: Sendable, Hashable {
        /// The certificates that a server's chain must end in. The default is the system's.
        public var roots: Roots
        /// Paths of PEM files with further trusted certificates.
        public var additionalRoots: [String]
        /// The client certificate for servers that request one (RFC 8705). The default is none.
        public var clientCertificate: ClientCertificate?
        /// The value of `User-Agent`, or nil for no such field. A field of the request takes precedence. The default is
        /// `swift-appauth`: firewalls, and APIs such as GitHub's, refuse requests without one.
        public var userAgent: String?
        /// The proxy for connections. The default is the one of the environment.
        public var proxy: Proxy
        /// How the proxy authenticates the user. The default is ``ProxyAuthentication/basic``.
        public var proxyAuthentication = ProxyAuthentication.basic
        /// The servers on loopback that requests to http URLs are sent to. The default is
        /// ``LoopbackServers/ofTrustedUsers``.
        public var loopbackServers = LoopbackServers.ofTrustedUsers
        /// The time for a response, in place of the limit of a request that has a shorter one. A refresh lock that another
        /// machine can take over (``PostgreSQLTokenStore``) is not held so long.
        package var patience = Duration.zero

        /// Creates a configuration.
        public init(
            roots: Roots = .system, additionalRoots: [String] = [], clientCertificate: ClientCertificate? = nil,
            userAgent: String? = "swift-appauth", proxy: Proxy = .environment
        ) {
            self.clientCertificate = clientCertificate
            (self.roots, self.additionalRoots, self.userAgent, self.proxy) = (roots, additionalRoots, userAgent, proxy)
        }
    }

    /// The trusted root certificates.
    public enum Roots: Sendable, Hashable {
        /// The file in `CURL_CA_BUNDLE`, or else `SSL_CERT_FILE`, and the folder in `SSL_CERT_DIR`, if any of them is
        /// set. Otherwise, the system's certificates. They are read with the first request.
        case system
        /// Only these PEM files.
        case files([String])
    }

    /// The proxy. Loopback hosts never use one: `localhost`, 127.0.0.0/8 and `[::1]`.
    public enum Proxy: Sendable, Hashable {
        /// The proxy in `http_proxy`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, as libcurl reads them. In `NO_PROXY`,
        /// entries with a port (`host:8443`) or a wildcard (`*.corp`) apply too.
        case environment
        /// No proxy, regardless of the environment.
        case none
        /// This proxy, for example `http://proxy.example:3128`, except for the hosts in `NO_PROXY`.
        case url(String)
    }

    /// Whose servers on loopback are sent requests, and whose pages ``SignIn``, ``SignOut`` and ``DeviceSignIn`` open or
    /// show. Without the check, another user of the machine could take the port of a server that has ended, and would receive
    /// the tokens that are meant for it.
    public enum LoopbackServers: Sendable, Hashable {
        /// Those of this process's user, of the user of its login session and desktop, of root, and of the users of system
        /// services: numbers below 1000, and from 61184 to 65534. A server of another user gets nothing: the request fails
        /// with `.transport`, and its `outcome` is `notSent`.
        ///
        /// The kernel does not report the user of a server in another network namespace, such as a container's, or in
        /// Windows, where a program runs in WSL. Such a server is sent requests. Servers with https are not checked, as
        /// they prove who they are.
        case ofTrustedUsers
        /// All, for example a provider in a container on the network of the host, which runs as another user.
        case ofAllUsers
    }

    /// How a proxy authenticates the user. Name and password are those in the URL of the proxy. The environment's proxies
    /// use it too. Requests to http URLs always use ``basic``: the other methods send a request more than once, and the proxy
    /// could read and repeat it. The raw values are those of `sign-in --proxy-auth`.
    public enum ProxyAuthentication: String, Sendable, Hashable, CaseIterable {
        /// The password in clear text (RFC 7617).
        case basic
        /// A digest of the password (RFC 7616).
        case digest
        /// NTLM, for proxies that offer nothing better.
        case ntlm
        /// The user's Kerberos ticket (RFC 4559), without a password: see kinit(1). The ticket is for the host name in
        /// the URL of the proxy. While libcurl gets it from the Kerberos server, all requests of the transport wait,
        /// even beyond their limits.
        case negotiate
    }

    package let configuration: Configuration
    private let libraryNames: [String]
    private let environment: @Sendable (String) -> String?
    private let system: (file: String, directories: [String])?
    private let worker = LockedValue<CurlWorker?>(nil)
    /// The certificate, or why it cannot be used. A PIN is given to its device once.
    private let certificate = LockedValue<Result<DeviceCertificate?, any Error>?>(nil)
    var trustsAllServers: Bool { configuration.loopbackServers == .ofAllUsers }

    /// Creates a transport. Nothing is loaded, read or started before the first request.
    public convenience init(_ configuration: Configuration = Configuration()) {
        self.init(configuration, libraryNames: CurlLibrary.systemNames) { name in
            shims_secure_getenv(name).map { String(cString: $0) }
        }
    }

    /// - Parameter system: The system's file of roots, and folders of them, in place of the usual ones.
    package init(
        _ configuration: Configuration, libraryNames: [String] = CurlLibrary.systemNames,
        system: (file: String, directories: [String])? = nil, environment: @escaping @Sendable (String) -> String?
    ) {
        (self.configuration, self.libraryNames, self.environment) = (configuration, libraryNames, environment)
        self.system = system
    }

    /// Sends a request and returns the response, regardless of its status.
    ///
    /// The body is decompressed, and its `Content-Encoding` and `Content-Length` are removed. Interim responses and
    /// trailers are dropped, and repeated fields stay separate. libcurl writes the fields that frame the message
    /// (`Host`, `Content-Length`, `Transfer-Encoding`, `Connection`, `Expect`).
    ///
    /// - Throws: ``AuthError`` `.transport` or `.timeout`, whose `outcome` is `notSent` only if no byte of the request
    ///   was sent; `.invalidResponse` for a response that is too large or not HTTP; `.invalidConfiguration` for an
    ///   unusable URL, certificate file or key; `.unavailable` without libcurl 7.80 or newer. `CancellationError`.
    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        let worker = try startedWorker()
        var request = request
        request.limits.total = max(request.limits.total, configuration.patience)
        var (isRepeated, confirmed) = (false, UnknownServer.Address?.none)
        while true {
            do { return try await worker.perform(request, confirmed: confirmed) } catch let unknown as UnknownServer {
                guard !isRepeated, let users = try await trustedUsers(of: unknown.server) else { throw unknown.error }
                if users.isEmpty { confirmed = unknown.server }
                isRepeated = true
            }
        }
    }

    /// Returns the users of a server that the kernel did not know: none if it is in another network namespace, nil if it cannot
    /// be reached or one of them is not trusted.
    private func trustedUsers(of server: UnknownServer.Address) async throws -> [UInt32]? {
        let check = LoopbackServerCheck(in: .current)
        // Not on the worker's thread, which has other transfers.
        let users = try await OwnThread().run { check.users(ofServerReachedAt: server.address, server.port) }
        return users.flatMap { $0.allSatisfy(check.accepts) ? $0 : nil }
    }

    private func startedWorker() throws -> CurlWorker {
        try worker.withLock { worker in
            if let worker { return worker }
            let library = try CurlLibrary.load(names: libraryNames)
            let roots = try TrustRoots.find(
                configuration, environment: environment,
                builtIn: system.map { ($0.file, nil) } ?? library.builtInRoots,
                hashedDirectories: system?.directories ?? TrustRoots.hashedDirectories)
            let list = NoProxyList(environment("no_proxy") ?? environment("NO_PROXY") ?? "")
            let certificate = try certificate.withLock { known in
                let given = configuration.clientCertificate
                let result = known ?? Result { try given.flatMap { try DeviceCertificate($0) } }
                if given?.passphrase != nil { known = result }
                return try result.get()
            }
            let started = try CurlWorker(
                library,
                CurlOptions(
                    configuration: configuration, roots: roots, hostsWithoutProxy: list, deviceCertificate: certificate)
            )
            worker = started
            return started
        }
    }
}
