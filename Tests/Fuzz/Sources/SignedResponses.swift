internal import AppAuth
internal import AppAuthConcurrency
internal import FoundationEssentials
internal import HTTPTypes
internal import JOSE

/// The invariants of a signed authorization response with a valid signature (JARM §2.4).
enum SignedResponses {
    private static let now = 1_750_000_000.0

    private static let key: SigningKey = {
        do { return try SigningKey.generate(.es256) } catch { fatalError("\(error)") }
    }()

    private static let request: AuthorizationRequest = {
        do {
            let issuer = "https://op.example"
            let provider = try ProviderMetadata(
                document: [
                    "issuer": .string(issuer), "authorization_endpoint": .string(issuer + "/authorize"),
                    "token_endpoint": .string(issuer + "/token"), "jwks_uri": .string(issuer + "/keys"),
                    "authorization_signing_alg_values_supported": ["ES256"],
                ])
            var options = AuthorizationRequest.Options()
            options.responseMode = .jwt
            return try AuthorizationRequest(
                client: Client(id: "fuzz", provider: provider), redirectURI: "http://127.0.0.1:4711/cb",
                scope: [.openID], options: options, state: Secret("right"), nonce: Secret("nonce"), pkce: PKCE())
        } catch { fatalError("\(error)") }
    }()

    /// Has the key, and keeps the codes that it is sent.
    private final class Host: HTTPTransport {
        let codes = LockedValue<[String]>([])

        func send(_ exchange: TransportRequest) async throws -> TransportResponse {
            guard exchange.head.path == "/token" else {
                let keys: JSON = ["keys": [key.publicKey.json]]
                return TransportResponse(HTTPResponse(status: .ok), body: Array(keys.serialized().utf8))
            }
            let form = FormParameters(decoding: String(decoding: exchange.body ?? [], as: UTF8.self))
            codes.withLock { $0 += form?.values("code") ?? [] }
            return TransportResponse(HTTPResponse(status: .badRequest), body: Array(#"{"error":"invalid_grant"}"#.utf8))
        }
    }

    @Sendable static func check(_ input: [UInt8]) {
        guard let claims = try? JSON(parsing: input), let token = try? JWS.sign(claims, with: key) else { return }
        do {
            let response = try request.response(fromQuery: "response=" + token)
            let isAwaited = claims["state"]?.string?.isExactly("right") == true
            expect((response != nil) == isAwaited, "the state decides whether this is the awaited response")
            guard let response else { return }
            wait { await exchange(response, claims) }
        } catch let error as AuthError { check(error) } catch { fatalError("another error: \(error)") }
    }

    private static func exchange(_ response: AuthorizationResponse, _ claims: JSON) async {
        let host = Host()
        let environment = Environment(
            transport: host, now: { Timestamp(wall: Date(timeIntervalSince1970: now)) })
        do {
            _ = try await AuthState.exchange(response, store: MemoryTokenStore(), environment: environment)
            fatalError("a session of a provider that refuses every code")
        } catch let error as AuthError { check(error) } catch { fatalError("another error: \(error)") }
        let codes = host.codes.withLock { $0 }
        guard !codes.isEmpty else { return }
        expect(claims["iss"]?.string?.isExactly("https://op.example") == true, "another issuer")
        let audience = claims["aud"]?.strings ?? [claims["aud"]?.string ?? ""]
        expect(audience.contains(where: "fuzz".isExactly), "another audience")
        expect((claims["exp"]?.double ?? 0) > now - 60, "an expired response")
        expect(codes == [claims["code"]?.string ?? ""] && !codes[0].isEmpty, "another code")
        expect(claims["error"]?.string?.isEmpty ?? true, "a code beside an error")
    }

    private static func check(_ error: AuthError) {
        expect(error.message.isOneLine && error.message.unicodeScalars.count <= 4000, "a refusal of several lines")
    }
}
