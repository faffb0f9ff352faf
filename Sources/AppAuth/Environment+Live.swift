internal import AppAuthConcurrency
public import AppAuthProtocol

extension Environment {
    /// The production environment: libcurl, the system's clock, and no log. A client key is the path of a file, which
    /// contains unencrypted PEM or a private JWK, or a URI of a key without a PIN (``ClientKey/init(uri:provider:keyID:pin:)``).
    /// The `kid` of a JWK is sent. An assertion, of a client or of a grant, is the
    /// path of a file too, which is read for each request, such as a projected token of Kubernetes.
    ///
    /// The process has one: all its requests share a transport, with its connections and its thread. A changed copy
    /// shares it too, unless its transport is replaced.
    public static let live: Environment = {
        var environment = Environment(transport: CurlTransport())
        environment.clientKey = { name in
            // A device takes its time, also for a key that it has wrapped in the file.
            try await OwnThread().run { try ClientKey.isURI(name) ? ClientKey(uri: name) : ClientKey(file: name) }
        }
        environment.clientAssertion = { path in try Secret(assertionFile: path) }
        environment.grantAssertion = { demand in try Secret(assertionFile: demand.name) }
        return environment
    }()
}

extension Secret {
    /// Reads an assertion of visible ASCII, without the line break at its end.
    fileprivate init(assertionFile path: String) throws {
        self = try credential(in: path) { bytes in
            let line = bytes.prefix { (0x21...0x7E).contains($0) }
            guard !line.isEmpty, bytes[line.endIndex...].allSatisfy({ "\r\n".utf8.contains($0) }) else {
                throw refusal("expected an assertion, found something else")
            }
            return Secret(String(decoding: line, as: UTF8.self))
        }
    }
}

extension ClientKey {
    /// Creates a key from a regular file of at most 64 KiB, which contains unencrypted PEM or a JWK.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration``, which names the file.
    public init(file path: String) throws {
        self = try credential(in: path) { bytes in
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw refusal("expected a private key in PEM or a JWK, found no text")
            }
            return if let jwk = try? JSON(parsing: bytes) { try ClientKey(jwk: jwk) } else { try ClientKey(pem: text) }
        }
    }
}

/// Reads a credential of the client from a regular file of at most 64 KiB. Errors name the file.
private func credential<Value>(in path: String, _ parse: ([UInt8]) throws -> Value) throws -> Value {
    let bytes: [UInt8]
    do { bytes = try InputFile.read(path, atMost: 64 << 10) } catch { throw refusal("\(path): \(error.description)") }
    do { return try parse(bytes) } catch let error as AuthError { throw refusal("\(path): \(error.message)") }
}

private func refusal(_ why: String) -> AuthError {
    AuthError(.invalidConfiguration, .configuration, why)
}
