public import AppAuthProtocol

extension Environment {
    /// The real world: libcurl, the system's clock, no log; a client's key is a file, named by its path: PEM that is
    /// not encrypted, or a private JWK, whose `kid` is sent.
    ///
    /// Each use makes a transport of its own, with connections of its own: keep one for all that belongs together.
    public static var live: Environment {
        var environment = Environment(transport: CurlTransport())
        environment.clientKey = { path in try ClientKey(file: path) }
        return environment
    }
}

extension ClientKey {
    /// Reads a private key from a regular file of at most 64 KiB that is not encrypted: PEM, or a JWK.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` that names the file.
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
