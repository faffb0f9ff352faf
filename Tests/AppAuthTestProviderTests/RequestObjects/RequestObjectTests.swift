import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// A client that signs its authorization requests.
private struct Signer {
    let provider: LocalProvider
    let key: SigningKey
    let clock: ManualClock

    /// Everything right, so that a test can do one thing wrong.
    func object(
        _ changes: KeyValuePairs<String, String?> = [:], header: JSON.Object = ["typ": "oauth-authz-req+jwt"],
        signedBy other: SigningKey? = nil, edit: (inout JSON.Object) -> Void = { _ in }
    ) throws -> String {
        let now = Int(clock.now.timeIntervalSince1970)
        var claims: JSON.Object = [
            "iss": "signing", "aud": .string(provider.issuer), "nbf": .number(.init(now)),
            "iat": .number(.init(now)), "exp": .number(.init(now + 300)), "jti": .string(UUID().uuidString),
        ]
        for (name, value) in Flow(provider: provider, clientID: "signing").parameters(changes) {
            claims[name] = .string(value)
        }
        edit(&claims)
        return try JWS.sign(.object(claims), header: header, with: other ?? key)
    }

    func url(_ object: String, _ more: [(name: String, value: String)] = []) -> String {
        provider.url(.authorization).appendingQuery([("client_id", "signing"), ("request", object)] + more)
    }
}

/// JWT-secured authorization requests (RFC 9101), by value.
@Suite struct RequestObjectTests {
    private static let secret = "a secret of at least thirty-two bytes"

    private func withSigner(
        _ algorithm: SignatureAlgorithm = .es256,
        _ change: (inout LocalProvider.Configuration) -> Void = { _ in }, _ body: (Signer) async throws -> Void
    ) async throws {
        let (key, clock) = (try SharedKeys.key(algorithm), ManualClock())
        let client = RegisteredClient(
            id: "signing", secret: Self.secret, keys: [key.publicKey], redirectURIs: [.anyLoopback],
            authentication: [.basic, .post])
        var configuration = LocalProvider.Configuration.demo {
            $0.clients += [client]
            $0.clock = clock.read
        }
        change(&configuration)
        try await withLocalProvider(configuration) { try await body(Signer(provider: $0, key: key, clock: clock)) }
    }

    @Test(arguments: SignatureAlgorithm.available)
    func `a signed request leads to a code, with any other parameters`(algorithm: SignatureAlgorithm) async throws {
        try await withSigner(algorithm) { signer in
            let url = try signer.url(signer.object(), [("scope", "address"), ("state", "other"), ("prompt", "none")])
            let back = try await TestBrowser().authorize(url)
            #expect(back["state"] == "st&te=ü")
            let flow = Flow(provider: signer.provider, clientID: "signing", secret: Self.secret)
            let tokens = try await flow.exchange(#require(back["code"]))
            #expect(tokens.json?["scope"]?.string == "openid profile email offline_access")
            let metadata = try #require(try await Wire.send("GET", signer.provider.url(.openIDConfiguration)).json)
            #expect(metadata["request_parameter_supported"]?.bool == true)
            let algorithms = metadata["request_object_signing_alg_values_supported"]?.strings
            #expect(algorithms?.contains(algorithm.rawValue) == true)
        }
    }

    static let wrong: [(String, @Sendable (inout JSON.Object) -> Void)] = [
        ("another client_id", { $0["client_id"] = "demo" }), ("no client_id", { $0["client_id"] = nil }),
        ("another iss", { $0["iss"] = "demo" }), ("no iss", { $0["iss"] = nil }),
        ("another aud", { $0["aud"] = "https://other.example" }), ("no aud", { $0["aud"] = nil }),
        ("expired", { $0["exp"] = 1_799_999_940 }), ("no exp", { $0["exp"] = nil }),
        ("exp too far", { $0["exp"] = 1_800_003_601 }), ("nbf to come", { $0["nbf"] = 1_800_000_061 }),
        ("nbf long ago", { $0["nbf"] = 1_799_996_399 }), ("no nbf", { $0["nbf"] = nil }),
        ("a sub", { $0["sub"] = "signing" }), ("request inside", { $0["request"] = "x" }),
        ("request_uri inside", { $0["request_uri"] = "x" }), ("no text", { $0["state"] = true }),
    ]

    @Test(arguments: wrong)
    func `an object with one thing wrong is refused`(
        what: String, edit: @Sendable (inout JSON.Object) -> Void
    ) async throws {
        try await withSigner { signer in
            // Nothing in the object counts, not even where it would lead to.
            let response = try await Wire.send("GET", signer.url(signer.object(edit: edit)))
            #expect(response.status == 400)
            #expect(response.header("Location") == nil)
            // With a way back beside it the client hears of it.
            let beside = [(name: "redirect_uri", value: Flow.redirectURI), (name: "state", value: "beside")]
            let refused = try await Wire.send("GET", signer.url(signer.object(edit: edit), beside))
            let back = try Flow.response(in: refused.header("Location"))
            #expect(back["error"] == "invalid_request_object")
            #expect(back["state"] == "beside")
        }
    }

    @Test func `times may be a minute off, and the audience one of a list`() async throws {
        try await withSigner { signer in
            let issuer = JSON.string(signer.provider.issuer)
            let edits: [(inout JSON.Object) -> Void] = [
                { $0["nbf"] = 1_800_000_060 }, { $0["nbf"] = 1_799_996_400 }, { $0["exp"] = 1_799_999_941 },
                { $0["aud"] = ["https://other.example", issuer] },
            ]
            for edit in edits {
                let object = try signer.object(["prompt": "none"]) {
                    edit(&$0)
                    if $0["nbf"]?.int == 1_799_996_400 { $0["exp"] = 1_800_000_000 }
                }
                let response = try await Wire.send("GET", signer.url(object))
                #expect(try Flow.response(in: response.header("Location"))["error"] == "login_required")
            }
        }
    }

    @Test func `the signature has to be the client's`() async throws {
        try await withSigner { signer in
            let parts = try signer.object().split(separator: ".")
            let payload = try JSON(parsing: #require(Base64URL.decode(String(parts[1]))))
            let none = Base64URL.encode(Array(#"{"alg":"none"}"#.utf8))
            let objects = [
                try signer.object(signedBy: SigningKey.generate(.es256)), "\(none).\(parts[1]).", "no object",
                try JWS.sign(payload, secret: Array(Self.secret.utf8), algorithm: .hs256),
                try signer.object(header: ["typ": "at+jwt"]),
            ]
            for object in objects {
                let url = signer.url(object, [("redirect_uri", Flow.redirectURI)])
                let back = try Flow.response(in: try await Wire.send("GET", url).header("Location"))
                #expect(back["error"] == "invalid_request_object")
            }
            let twice = try signer.url(
                signer.object(), [("request", signer.object()), ("redirect_uri", Flow.redirectURI)])
            let back = try Flow.response(in: try await Wire.send("GET", twice).header("Location"))
            #expect(back["error"] == "invalid_request")
        }
    }

    @Test func `the parameters inside are checked, and may be numbers, lists and objects`() async throws {
        try await withSigner { signer in
            for (edit, error) in [
                ({ $0["max_age"] = "soon" }, "invalid_request"), ({ $0["scope"] = "unknown" }, "invalid_scope"),
                ({ $0["resource"] = ["https://unknown.example"] }, "invalid_target"),
                ({ $0["max_age"] = 5 }, "login_required"), ({ $0["claims"] = ["userinfo": [:]] }, "login_required"),
                ({ $0["resource"] = [.string(signer.provider.url(.api))] }, "login_required"),
            ] as [((inout JSON.Object) -> Void, String)] {
                let response = try await Wire.send("GET", signer.url(signer.object(["prompt": "none"], edit: edit)))
                #expect(try Flow.response(in: response.header("Location"))["error"] == error)
            }
        }
    }

    /// RFC 9126 §3.
    @Test func `an object can be pushed, with nothing but authentication beside it`() async throws {
        try await withSigner { signer in
            let url = signer.provider.url(.pushedAuthorization)
            func push(_ object: String, _ more: [(name: String, value: String)] = []) async throws -> Wire.Response {
                try await Wire.post(
                    url, [("client_id", "signing"), ("client_secret", Self.secret), ("request", object)] + more)
            }
            let response = try await push(signer.object())
            #expect(response.status == 201)
            let flow = Flow(provider: signer.provider, clientID: "signing", secret: Self.secret)
            let uri = try #require(response.json?["request_uri"]?.string)
            #expect(try await TestBrowser().authorize(flow.url(naming: uri))["code"] != nil)
            let beside = try await push(signer.object(), [("scope", "openid")])
            #expect(beside.json?["error"]?.string == "invalid_request")
            let wrong = try await push(signer.object { $0["aud"] = "https://other.example" })
            #expect(wrong.status == 400)
            #expect(wrong.json?["error"]?.string == "invalid_request_object")
            // HTTP Basic names the client already.
            let secret = Self.secret.replacing(" ", with: "+")
            let basic = [("Authorization", "Basic " + Data("signing:\(secret)".utf8).base64EncodedString())]
            let withBasic = try await Wire.post(url, [("request", try signer.object())], basic)
            #expect(withBasic.status == 201)
        }
    }

    @Test func `a provider can require it, and its metadata says so`() async throws {
        for isRequired in [false, true] {
            try await withSigner(.es256) {
                $0.requiresSignedRequestObjects = isRequired
            } _: { signer in
                let flow = Flow(provider: signer.provider, clientID: "signing", secret: Self.secret)
                let metadata = try #require(try await Wire.send("GET", signer.provider.url(.openIDConfiguration)).json)
                #expect(metadata["require_signed_request_object"]?.bool == isRequired)
                let error = try await flow.refusal(["prompt": "none"])["error"]
                #expect(error == (isRequired ? "invalid_request" : "login_required"))
                #expect(try await flow.push().status == (isRequired ? 400 : 201))
                let signed = try await Wire.send("GET", signer.url(signer.object(["prompt": "none"])))
                #expect(try Flow.response(in: signed.header("Location"))["error"] == "login_required")
            }
        }
    }
}
