public import AppAuthProtocol

extension Environment {
    /// The production environment: libcurl, the system's clock, and no log. A client key is the path of a file, which
    /// contains unencrypted PEM or a private JWK. The `kid` of a JWK is sent. A client assertion is the path of a file too,
    /// which is read for each request, such as a projected token of Kubernetes.
    ///
    /// Each access creates a new transport with its own connections. Keep one environment for related requests.
    public static var live: Environment {
        var environment = Environment(transport: CurlTransport())
        environment.clientKey = { path in try ClientKey(file: path) }
        environment.clientAssertion = { path in try Secret(assertionFile: path) }
        return environment
    }
}

extension Secret {
    /// Reads an assertion from a regular file of at most 64 KiB of visible ASCII, without the line break at its end.
    fileprivate init(assertionFile path: String) throws {
        func refusal(_ why: String) -> AuthError {
            AuthError(.invalidConfiguration, .configuration, "\(path): \(why)", outcome: .notSent)
        }
        var bytes: [UInt8]
        do { bytes = try InputFile.read(path, atMost: 64 << 10) } catch { throw refusal(error.description) }
        while bytes.last == UInt8(ascii: "\n") || bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        guard !bytes.isEmpty, bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw refusal("expected a client assertion, found something else")
        }
        self.init(String(decoding: bytes, as: UTF8.self))
    }
}

extension ClientKey {
    /// Creates a key from a regular file of at most 64 KiB, which contains unencrypted PEM or a JWK.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration``, which names the file.
    public init(file path: String) throws {
        func refusal(_ why: String) -> AuthError {
            AuthError(.invalidConfiguration, .configuration, "\(path): \(why)", outcome: .notSent)
        }
        let bytes: [UInt8]
        do { bytes = try InputFile.read(path, atMost: 64 << 10) } catch { throw refusal(error.description) }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw refusal("expected a private key in PEM or a JWK, found no text")
        }
        do {
            if let jwk = try? JSON(parsing: bytes) {
                try self.init(jwk: jwk)
            } else {
                try self.init(pem: text)
            }
        } catch let error as AuthError { throw refusal(error.message) }
    }
}
