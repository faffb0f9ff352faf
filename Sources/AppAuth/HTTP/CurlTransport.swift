public import AppAuthProtocol
internal import CShims
internal import JOSE

/// HTTP by the system's libcurl: the transport to use unless an app brings its own.
///
/// ```swift
/// let transport = CurlTransport()
/// let answer = try await transport.send(TransportRequest(request))
/// ```
///
/// http and https alone, TLS 1.2 or newer, HTTP/2 where the server offers it. No redirects, no cookies, no `.netrc`. The
/// time and the sizes of an exchange are kept to whatever the server does, compressed answers included. A request whose
/// method is not idempotent is sent over a connection of its own, at most once; others share kept connections, and may
/// be sent again where a kept connection turns out to be closed (RFC 9110 §9.2.2).
///
/// libcurl is opened and one thread started at the first request. All exchanges of a transport run at once on that
/// thread, which ends when the transport is released. Keep one transport: connections are reused within it. Cancelling
/// the task of an exchange ends the transfer.
public final class CurlTransport: HTTPTransport {
    /// How a transport connects.
    public struct Configuration: Sendable, Hashable {
        /// The certificates that servers' chains have to end in; the system's unless set.
        public var roots: Roots
        /// Paths of PEM files whose certificates are trusted beside ``roots``.
        public var additionalRoots: [String]
        /// What the client shows to servers that ask for a certificate (RFC 8705); nothing unless set.
        public var clientCertificate: ClientCertificate?
        /// The value of `User-Agent`; no such field unless set. A request's own field goes first.
        public var userAgent: String?
        /// Where connections go through; from the environment unless set.
        public var proxy: Proxy

        /// Puts a configuration together.
        public init(
            roots: Roots = .system, additionalRoots: [String] = [], clientCertificate: ClientCertificate? = nil,
            userAgent: String? = nil, proxy: Proxy = .environment
        ) {
            self.clientCertificate = clientCertificate
            (self.roots, self.additionalRoots, self.userAgent, self.proxy) = (roots, additionalRoots, userAgent, proxy)
        }
    }

    /// Which certificates are trusted.
    public enum Roots: Sendable, Hashable {
        /// The file that `CURL_CA_BUNDLE` or else `SSL_CERT_FILE` names and the folder that `SSL_CERT_DIR` names, if any of
        /// them is set; otherwise the system's. They are read when the first request is made.
        case system
        /// These PEM files and nothing else.
        case files([String])
    }

    /// The proxy. None is ever used for loopback hosts: `localhost`, 127.0.0.0/8 and `[::1]`.
    public enum Proxy: Sendable, Hashable {
        /// As `http_proxy`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` say, in the ways that libcurl reads them.
        case environment
        /// None, whatever the environment says.
        case none
        /// This one, for example `http://proxy.example:3128`, but for the hosts of `NO_PROXY`.
        case url(String)
    }

    private let configuration: Configuration
    private let libraryNames: [String]
    private let environment: @Sendable (String) -> String?
    private let worker = LockedValue<CurlWorker?>(nil)

    /// Makes a transport. Nothing is opened, read or started before the first request.
    public convenience init(_ configuration: Configuration = Configuration()) {
        self.init(configuration, libraryNames: CurlLibrary.systemNames) { name in
            shims_secure_getenv(name).map { String(cString: $0) }
        }
    }

    package init(
        _ configuration: Configuration, libraryNames: [String] = CurlLibrary.systemNames,
        environment: @escaping @Sendable (String) -> String?
    ) {
        (self.configuration, self.libraryNames, self.environment) = (configuration, libraryNames, environment)
    }

    /// Sends a request and returns the response, whatever its status.
    ///
    /// The body comes decompressed, without the `Content-Encoding` and `Content-Length` that it was sent with. Interim
    /// answers are read over and trailers dropped; repeated fields stay apart. Fields that frame the message
    /// (`Host`, `Content-Length`, `Transfer-Encoding`, `Connection`, `Expect`) are libcurl's to write.
    ///
    /// - Throws: ``AuthError`` `.transport` or `.timeout`, whose `outcome` is `notSent` only if no byte of the request
    ///   left; `.invalidResponse` for what is too large or not HTTP; `.invalidConfiguration` for a URL, a file of
    ///   certificates or a key that cannot be used; `.unavailable` without a libcurl of 7.80 or newer. `CancellationError`.
    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        try await startedWorker().perform(request)
    }

    private func startedWorker() throws -> CurlWorker {
        try worker.withLock { worker in
            if let worker { return worker }
            let library = try CurlLibrary.load(names: libraryNames)
            let roots = try TrustRoots.find(configuration, environment: environment, builtIn: library.builtInRoots)
            let started = try CurlWorker(library, CurlOptions(configuration: configuration, roots: roots))
            worker = started
            return started
        }
    }
}
