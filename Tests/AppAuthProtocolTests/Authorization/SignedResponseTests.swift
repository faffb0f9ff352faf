import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// JWT Secured Authorization Response Mode for OAuth 2.0 (JARM) §2.4: which signed responses get as far as the exchange.
struct SignedResponseTests {
    private let signer: Signer

    init() throws { signer = try Signer() }

    @Test(arguments: [AuthorizationRequest.ResponseMode.jwt, .queryJWT, .formPostJWT])
    func `a response that the provider has signed is exchanged`(mode: AuthorizationRequest.ResponseMode) async throws {
        let host = try Host(signer)
        #expect(try await exchange(request(mode), at: host)?.code == .invalidGrant)
        #expect(host.codes.withLock { $0 } == ["SplxlOBeZQQYbYS6WxSbIA"])
    }

    @Test(
        arguments: [
            ("iss", "https://other.example"), ("iss", nil), ("iss", .null), ("iss", ""), ("aud", "other"), ("aud", nil),
            ("aud", .null), ("aud", ""), ("exp", nil), ("exp", .null), ("exp", ""), ("code", nil), ("code", .null),
            ("code", ""), ("exp", "soon"),
        ] as [(String, JSON?)])
    func `one that lacks a claim, or is for another client, is refused`(name: String, value: JSON?) async throws {
        let host = try Host(signer)
        let error = try await exchange(request(), at: host) { $0[name] = value }
        #expect(error?.code == .invalidRedirect)
        #expect(error?.message.contains("'\(name)'") == true)
        #expect(host.codes.withLock { $0.isEmpty })
    }

    /// It is not about a user, so that its issuer is the provider, also where that of an ID token is a tenant.
    @Test(arguments: [("", nil), ("/31537af4-6d77-4bb9-a681-d2394888ea26", "'iss'"), ("/{tenantid}", "'iss'")])
    func `its issuer is the provider, not a tenant`(suffix: String, message: String?) async throws {
        let tenant = "31537af4-6d77-4bb9-a681-d2394888ea26"
        var rules = IDTokenRules()
        rules.issuer = .template(Signer.issuer + "/{tenantid}")
        let host = try Host(signer)
        let error = try await exchange(request(rules: rules), at: host) { claims in
            (claims["iss"], claims["tid"]) = (.string(Signer.issuer + suffix), .string(tenant))
        }
        #expect(error?.code == (message == nil ? .invalidGrant : .invalidRedirect))
        #expect(message.map { error?.message.contains($0) == true } != false, "\(error as Any)")
        #expect(host.codes.withLock { $0.count } == (message == nil ? 1 : 0))
    }

    @Test(arguments: [(-59, true), (-60, false)])
    func `its end counts, with a minute for the clocks`(seconds: Int, isTaken: Bool) async throws {
        let end = Int(Signer.now.timeIntervalSince1970) + seconds
        let error = try await exchange(request(), at: Host(signer)) { $0["exp"] = .number(.init(end)) }
        #expect(error?.code == (isTaken ? .invalidGrant : .invalidRedirect))
    }

    @Test(arguments: [(-3600, true), (3600, true), (90_000, false)] as [(Double, Bool)])
    func `a machine's clock that is wrong by a day or less does not end it`(skew: Double, isTaken: Bool) async throws {
        let host = try Host(signer, date: Signer.now)
        let error = try await exchange(request(), at: host, now: Signer.now + skew)
        #expect(error?.code == (isTaken ? .invalidGrant : .invalidRedirect))
        let late = try await exchange(request(), at: host, now: Signer.now + skew) { claims in
            claims["exp"] = .number(.init(Int(Signer.now.timeIntervalSince1970) - 60))
        }
        #expect(late?.code == .invalidRedirect)
    }

    @Test(
        arguments: [
            (["ES256"], ["RS256"], true), (["PS256"], ["ES256"], false), (nil, ["ES256"], true),
            (nil, ["RS256"], false),
            (nil, nil, false),
        ] as [([String]?, [String]?, Bool)])
    func `its algorithm is one that the provider names, for ID tokens where it names none for responses`(
        responses: [String]?, idTokens: [String]?, isTaken: Bool
    ) async throws {
        let request = try request(responses: responses, idTokens: idTokens)
        let error = try await exchange(request, at: Host(signer))
        #expect(error?.code == (isTaken ? .invalidGrant : .invalidRedirect))
    }

    @Test(arguments: [true, false])
    func `an HMAC with the client's secret is no signature where the provider merely lists it`(
        isListedForResponses: Bool
    ) async throws {
        let secret = "a client secret of thirty-two bytes"
        let listed = ["ES256", "HS256"]
        let request = try request(
            responses: isListedForResponses ? listed : nil, idTokens: listed,
            authentication: .clientSecretBasic(Secret(secret)))
        let claims = try JSON(parsing: JWS(compact: response(to: request).reveal()).payload)
        let token = try JWS.sign(claims, secret: Array(secret.utf8), algorithm: .hs256)
        let response = try #require(try request.response(fromQuery: "response=" + token))
        let host = try Host(signer)
        let error = await authError {
            try await AuthState.exchange(
                response, store: MemoryTokenStore(),
                environment: Environment(transport: host, now: { Timestamp(wall: Signer.now) }))
        }
        #expect(error?.code == .invalidRedirect && error?.message.contains("found 'HS256'") == true)
        #expect(host.codes.withLock { $0.isEmpty })
    }

    @Test func `one with another issuer's signature is refused, even if it is an error`() async throws {
        let host = try Host(Signer())
        #expect(try await exchange(request(), at: host)?.code == .invalidRedirect)
        let refusal = try await exchange(request(), at: host) { $0["error"] = "access_denied" }
        #expect(refusal?.code == .invalidRedirect)
        let signed = try await exchange(request(), at: Host(signer)) { $0["error"] = "access_denied" }
        #expect(signed?.code == .accessDenied)
    }

    @Test func `where none was asked for it is no response, and where one was nothing else is`() throws {
        let (open, signed) = (try request(nil), try request())
        #expect(try open.response(fromQuery: "response=" + response(to: open).reveal()) == nil)
        let error = refusal { try signed.response(fromQuery: "code=c&state=" + signed.state.reveal()) }
        #expect(error?.code == .invalidRedirect)
        #expect(try open.response(fromQuery: "code=c&state=" + open.state.reveal()) != nil)
    }

    @Test func `the response to another request is no response`() throws {
        let (request, other) = (try request(), try request())
        #expect(try request.response(fromQuery: "response=" + response(to: other).reveal()) == nil)
        #expect(try request.response(fromQuery: "response=" + response(to: request).reveal()) != nil)
    }

    /// The error that a signed response ends with: the host's own if it got the code.
    private func exchange(
        _ request: AuthorizationRequest, at host: Host, now: Date = Signer.now,
        _ edit: (inout JSON.Object) -> Void = { _ in }
    ) async throws -> AuthError? {
        let token = try response(to: request, edit).reveal()
        let response = try #require(try request.response(fromQuery: "response=" + token))
        let environment = Environment(transport: host, now: { Timestamp(wall: now) })
        return await authError {
            try await AuthState.exchange(response, store: MemoryTokenStore(), environment: environment)
        }
    }

    private func response(
        to request: AuthorizationRequest, _ edit: (inout JSON.Object) -> Void = { _ in }
    ) throws -> Secret {
        try signer.token(typ: nil) { claims in
            claims = [
                "iss": .string(Signer.issuer), "aud": "s6BhdRkqt3", "code": "SplxlOBeZQQYbYS6WxSbIA",
                "exp": .number(.init(Int(Signer.now.timeIntervalSince1970) + 600)),
                "state": .string(request.state.reveal()),
            ]
            edit(&claims)
        }
    }

    private func request(
        _ mode: AuthorizationRequest.ResponseMode? = .jwt, responses: [String]? = ["ES256"], idTokens: [String]? = nil,
        authentication: ClientAuthentication = .none, rules: IDTokenRules = .init()
    ) throws -> AuthorizationRequest {
        var more = JSON.Object()
        more["authorization_signing_alg_values_supported"] = responses.map { .array($0.map(JSON.string)) }
        more["id_token_signing_alg_values_supported"] = idTokens.map { .array($0.map(JSON.string)) }
        let provider = try ProviderMetadata(
            issuer: Issuer(Signer.issuer),
            endpoints: [
                .authorization: Signer.issuer + "/authorize", .token: Signer.issuer + "/token",
                .keys: Signer.issuer + "/keys",
            ], more: more)
        var options = AuthorizationRequest.Options()
        options.responseMode = mode
        var client = Client(id: "s6BhdRkqt3", authentication: authentication, provider: provider)
        client.idTokenRules = rules
        return try AuthorizationRequest(client: client, redirectURI: "http://127.0.0.1/cb", options: options)
    }

    /// Has a signer's keys, and refuses every code.
    private struct Host: HTTPTransport {
        let keys: JSON
        let codes = LockedValue<[String]>([])

        let fields: HTTPFields

        init(_ signer: Signer, date: Date? = nil) throws {
            keys = ["keys": [signer.jwk()]]
            fields = date.map { [.date: $0.httpDate] } ?? [:]
        }

        func send(_ exchange: TransportRequest) async throws -> TransportResponse {
            guard exchange.head.path == "/token" else {
                return TransportResponse(
                    HTTPResponse(status: .ok, headerFields: fields), body: Array(keys.serialized().utf8))
            }
            let form = FormParameters(decoding: String(decoding: exchange.body ?? [], as: UTF8.self))
            codes.withLock { $0 += form?.values("code") ?? [] }
            return TransportResponse(HTTPResponse(status: .badRequest), body: Array(#"{"error":"invalid_grant"}"#.utf8))
        }
    }
}
