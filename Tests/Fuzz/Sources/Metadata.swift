internal import AppAuth
internal import JOSE

/// The invariants of a provider's metadata (OpenID Connect Discovery §3).
enum Metadata {
    private static let endpoints: [ProviderMetadata.Endpoint] = [
        .authorization, .token, .keys, .userInfo, .revocation, .introspection, .registration, .endSession,
        .deviceAuthorization, .pushedAuthorizationRequest,
    ]

    @Sendable static func check(_ input: [UInt8]) {
        guard let json = try? JSON(parsing: input) else { return }
        // Metadata that was read is written, and read again, without a change.
        let written = json.serialized()
        expect((try? JSON(parsing: Array(written.utf8))) == json, "written and read: something else")
        do {
            let provider = try ProviderMetadata(document: json)
            check(provider.issuer.url)
            expect(provider.issuer.string.isExactly(json["issuer"]?.string ?? ""), "another issuer")
            for endpoint in endpoints {
                let isAbsent = json[endpoint.rawValue] ?? "" == ""
                guard let url = provider[endpoint] else {
                    expect(isAbsent || endpoint != .keys, "a location of keys that is passed over")
                    check(provider, requires: endpoint)
                    continue
                }
                expect(!isAbsent, "an endpoint that is not there")
                check(url)
            }
            _ = (provider.idTokenSigningAlgorithms, provider.tokenEndpointAuthMethods, provider.scopes)
        } catch let error as AuthError {
            expect(error.message.isOneLine && error.message.unicodeScalars.count <= 4000, "a refusal of several lines")
        } catch { fatalError("another error: \(error)") }
    }

    /// A member that cannot be used is an error, by its name, of what needs it.
    private static func check(_ provider: ProviderMetadata, requires endpoint: ProviderMetadata.Endpoint) {
        do {
            _ = try provider.require(endpoint)
            fatalError("an endpoint that is passed over")
        } catch {
            let message = (error as? AuthError)?.message ?? ""
            expect(message.contains("'\(endpoint.rawValue)'"), "an error about something else: \(message)")
        }
    }

    static func check(_ url: SecureURL) {
        expect(url.scheme == "https" || url.scheme == "http" && url.isLoopback, "a URL in the clear")
        expect(url.string.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "a byte that no URL has")
        expect(!url.authority.contains("@") && !url.string.contains("#"), "user information or a fragment in a URL")
    }
}
