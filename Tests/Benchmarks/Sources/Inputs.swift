internal import AppAuth
internal import BenchReport
internal import Glibc

/// A variable of the environment that has to be there.
func variable(_ name: String) throws -> String {
    guard let value = getenv(name).map({ String(cString: $0) }), !value.isEmpty else {
        throw Failure("expected the environment variable \(name), found none")
    }
    return value
}

extension Client {
    /// A client of the server at the URL, with its origin as the issuer.
    init(id: String, serverOf url: SecureURL, endpoints: [ProviderMetadata.Endpoint: String] = [:]) throws {
        let provider = try ProviderMetadata(
            issuer: Issuer("\(url.scheme)://\(url.authority)"), endpoints: endpoints)
        self.init(id: id, provider: provider)
    }
}
