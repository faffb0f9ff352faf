public import AppAuthCore
internal import FoundationEssentials

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
    /// Reads a private key from a file that is not encrypted: PEM, or a JWK.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` that names the file.
    public init(file path: String) throws {
        func refusal(_ why: String) -> AuthError {
            AuthError(.invalidConfiguration, .configuration, "\(path): \(why)", outcome: .notSent)
        }
        guard let data = FileManager.default.contents(atPath: path) else { throw refusal("cannot be read") }
        guard data.count <= 64 << 10 else {
            throw refusal("expected a private key of at most 64 KiB, found \(data.count) bytes")
        }
        guard let text = String(validating: data, as: UTF8.self) else {
            throw refusal("expected a private key in PEM or a JWK, found no text")
        }
        do {
            if let jwk = try? JSON(parsing: [UInt8](data)) {
                try self.init(jwk: jwk)
            } else {
                try self.init(pem: text)
            }
        } catch let error as AuthError { throw refusal(error.message) }
    }
}
