internal import Foundation
public import FoundationNetworking

extension ProviderMetadata {
    /// Creates metadata with the token endpoint of a request, for an app that knows a server only by this request.
    ///
    /// ```swift
    /// var request = URLRequest(url: url)
    /// request.setValue("harbour", forHTTPHeaderField: "X-App")
    ///
    /// let client = Client(
    ///     id: "my-app", authentication: .clientSecretBasic(secret),
    ///     provider: try ProviderMetadata(tokenRequest: request))
    /// var environment = Environment.live
    /// environment.dialect.addFields(of: request)
    /// ```
    /// - Throws: As ``ProviderMetadata/init(tokenEndpoint:)``.
    public init(tokenRequest: URLRequest) throws {
        try self.init(tokenEndpoint: tokenRequest.url?.absoluteURL.absoluteString ?? "")
    }
}
