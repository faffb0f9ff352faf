import AppAuthProtocol
import TestFixtures
import Testing

/// RFC 6749 §4.1.2, RFC 9207 §2.4, RFC 9700 §4.7.
struct AuthorizationResponseTests {
    private let request: AuthorizationRequest
    private let promising: AuthorizationRequest

    init() throws {
        request = try Self.request(promisesIssuer: false)
        promising = try Self.request(promisesIssuer: true)
    }

    @Test func `a response with our state and a code is taken`() throws {
        let response = try #require(try response("code=SplxlOBeZQQYbYS6WxSbIA&state=STATE"))
        #expect(response.code.reveal() == "SplxlOBeZQQYbYS6WxSbIA")
        #expect(response.request.state == request.state)
        #expect(!"\(response)".contains("Splxl"))
        #expect(try self.response("session_state=x&state=STATE&code=a%20b&unknown")?.code.reveal() == "a b")
    }

    // fapi2-…-ensure-authorization-response-with-invalid-state-fails, …-with-invalid-missing-state-fails
    @Test(arguments: [
        "", "code=c", "code=c&state=", "code=c&state", "code=c&state=other", "code=c&state=STATEx",
        "code=c&state=xSTATE",
        "code=c&State=STATE", "error=access_denied", "error=access_denied&state=other",
        "code=c&iss=https://evil.example",
        "code=c&code=d&state=other", "state=other&state=another", "code=%zz&state=other", "code=%FF", "STATE",
    ])
    func `a response without our state is ignored, and the wait continues`(query: String) throws {
        #expect(try response(query) == nil)
    }

    @Test(arguments: [
        ("iss=https%3A%2F%2Fop.example", true, true), ("iss=https://op.example", true, true), ("", true, false),
        ("iss=", true, false), ("iss=https://op.example/", true, false), ("iss=https://OP.example", true, false),
        ("iss=https://evil.example", true, false), ("iss=https://op.example", false, true), ("", false, true),
        ("iss=https://evil.example", false, false), ("iss=", false, false),
    ])
    // fapi2-…-invalid-authorization-response-iss, …-remove-authorization-response-iss
    func `an iss is the issuer exactly, and there where it was promised (RFC 9207 §2.4)`(
        iss: String, isPromised: Bool, isTaken: Bool
    ) throws {
        let query = "code=c&state=STATE&" + iss
        if isTaken {
            #expect(try response(query, to: isPromised ? promising : request) != nil)
        } else {
            let error = try #require(refusal { try response(query, to: isPromised ? promising : request) })
            #expect(error.code == .invalidRedirect)
            #expect(error.message.contains("'iss'"))
        }
    }

    private static let tenant = "31537af4-6d77-4bb9-a681-d2394888ea26"
    private static let other = "9188040d-6c67-4c5b-b112-36a304b66dad"

    @Test(
        arguments: [
            ("https://op.example/\(tenant)/v2", true), ("https://op.example", true),
            ("https://op.example/\(other)/v2", false), ("https://op.example/{tenantid}/v2", false),
            ("https://op.example/\(tenant)/v2/", false), ("https://op.example/\(tenant)", false),
            ("https://op.example/\(tenant)%3Fx/v2", false), ("https://op.example/common/v2", false),
            ("https://evil.example/\(tenant)/v2", false), ("", false),
        ])
    func `with a template, an iss is also that of an accepted tenant`(iss: String, isTaken: Bool) throws {
        let policy = IssuerPolicy.template("https://op.example/{tenantid}/v2", tenants: [Self.tenant])
        let request = try Self.request(promisesIssuer: true, policy)
        let error = refusal { try response("code=c&state=STATE&iss=" + iss, to: request) }
        #expect((error == nil) == isTaken && error?.message.contains("'iss'") ?? true)
    }

    @Test func `an error from another issuer is not believed (RFC 9207 §2.4)`() throws {
        let wrong = refusal { try response("error=access_denied&state=STATE&iss=https://evil.example", to: promising) }
        #expect(wrong?.code == .invalidRedirect)
        #expect(wrong?.server == nil)
        // Without an issuer, the error is refused too. The app may learn what it says.
        let missing = refusal { try response("error=invalid_scope&state=STATE", to: promising) }
        #expect(missing?.code == .invalidRedirect && missing?.server?.error == "invalid_scope")
        let right = refusal { try response("error=access_denied&state=STATE&iss=https://op.example", to: promising) }
        #expect(right?.code == .accessDenied)
    }

    @Test(arguments: [
        "code=c&code=c&state=STATE", "code=c&state=STATE&state=STATE", "code=c&state=STATE&state=other",
        "code=c&state=STATE&a=1&a=2", "code=c&error=a&error=b&state=STATE", "code=c&state=STATE&%63ode=d",
        "code=c&state=STATE&iss=https://op.example&iss=https://op.example",
    ])
    func `a repeated parameter ends the request (RFC 6749 §3.1)`(query: String) throws {
        let error = try #require(refusal { try response(query) })
        #expect(error.code == .invalidRedirect)
        #expect(error.message.contains("twice"))
    }

    @Test(arguments: ["state=STATE", "state=STATE&code=", "state=STATE&code", "state=STATE&Code=c"])
    func `a response of ours without a code ends the request`(query: String) throws {
        let error = try #require(refusal { try response(query) })
        #expect(error.code == .invalidRedirect)
        #expect(error.message.contains("'code'"))
    }

    // Core §3.3.2.5.
    @Test(arguments: ["", "&id_token", "&id_token="])
    func `where an ID token was asked for beside the code, a response without one ends the request`(rest: String) throws
    {
        let hybrid = try Self.request(promisesIssuer: false) {
            ($0.responseType, $0.responseMode) = (.codeIDToken, .formPost)
        }
        let error = try #require(refusal { try response("code=c&state=STATE" + rest, to: hybrid) })
        #expect(error.code == .invalidRedirect)
        #expect(error.message.contains("'id_token'"))
        #expect(try response("code=c&state=STATE&id_token=e30.e30.AA", to: hybrid)?.idToken == Secret("e30.e30.AA"))
        #expect(try response("code=c&state=STATE&id_token=e30.e30.AA")?.idToken == nil)
    }

    @Test(arguments: ["code=%", "code=%E9", "error=refus%E9", "code=c&iss=%FF", "code=c&state=%FF"])
    func `a response of ours that cannot be read ends the request, instead of a wait for ever`(query: String) {
        #expect(refusal { try response(query + "&state=STATE") }?.code == .invalidRedirect)
    }

    @Test func `what nothing depends on may be in Latin-1`() throws {
        #expect(try response("state=STATE&name=%E9&code=c&%zz=%")?.code == Secret("c"))
        let error = refusal { try response("error=access_denied&error_description=refus%E9&state=STATE") }
        #expect(error?.code == .accessDenied && error?.server?.errorDescription == nil)
    }

    @Test(arguments: [
        ("access_denied", false), ("login_required", false), ("invalid_scope", false), ("server_error", true),
        ("temporarily_unavailable", true), ("interaction_required", false), ("vendor_error", false),
    ])
    func `the provider's error is the code (RFC 6749 §4.1.2.1, Core §3.1.2.6)`(code: String, isTemporary: Bool) throws {
        let query = "error=\(code)&error_description=Not+today&error_uri=https://op.example/e&state=STATE"
        let error = try #require(refusal { try response(query) })
        #expect(error.code.rawValue == code)
        #expect(error.stage == .authorization)
        #expect(error.isTemporary == isTemporary)
        #expect(
            error.server
                == OAuthError(error: code, errorDescription: "Not today", errorURI: "https://op.example/e"))
        #expect(error.message.contains("Not today"))
    }

    /// RFC 6749 §4.1.2.1: the code means the user or the server. Servers describe a denial of their own.
    @Test(arguments: [
        ("", "you have denied access"),
        (
            "&error_description=Not+assigned+to+this+app",
            "you or the provider denied access: 'Not assigned to this app'"
        ),
    ])
    func `a denial is told to the user who has just denied`(description: String, message: String) throws {
        let error = try #require(refusal { try response("error=access_denied&state=STATE\(description)") })
        #expect(error.code == .accessDenied && error.server?.error == "access_denied")
        #expect(error.message == message)
    }

    @Test func `an error wins over a code, and an empty one is none (RFC 6749 §3.1)`() throws {
        #expect(refusal { try response("code=c&error=access_denied&state=STATE") }?.code == .accessDenied)
        #expect(try response("code=c&error=&state=STATE")?.code.reveal() == "c")
    }

    @Test func `what the provider says is shown in one line, without tricks and not at length`() throws {
        let marks = String(repeating: "%CC%81", count: 5000)
        let error = try #require(
            refusal { try response("error=a%0A%1B[31m&error_description=x%E2%80%AE%0D%0Ay\(marks)&state=STATE") })
        #expect(error.message.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
        #expect(!error.message.unicodeScalars.contains("\u{202E}"))
        #expect(error.message.unicodeScalars.count < 500)
    }

    @Test func `an error that repeats the state does not show it`() throws {
        let error = try #require(
            refusal { try response("error=invalid_request&error_description=bad+state+STATE&state=STATE") })
        #expect(!error.description.contains(request.state.reveal()))
        #expect(error.server?.errorDescription == "bad state [redacted]")
    }

    private func response(_ query: String, to request: AuthorizationRequest? = nil) throws -> AuthorizationResponse? {
        let request = request ?? self.request
        return try request.response(fromQuery: query.replacing("STATE", with: request.state.reveal()))
    }

    private static func request(
        promisesIssuer: Bool, _ policy: IssuerPolicy = .exact,
        _ edit: (inout AuthorizationRequest.Options) -> Void = { _ in }
    ) throws -> AuthorizationRequest {
        let provider = try ProviderMetadata(
            issuer: "https://op.example", endpoints: [.authorization: "https://op.example/authorize"],
            more: ["authorization_response_iss_parameter_supported": .bool(promisesIssuer)])
        var options = AuthorizationRequest.Options()
        edit(&options)
        var client = Client(id: "a", provider: provider)
        client.idTokenRules.issuer = policy
        return try AuthorizationRequest(
            client: client, redirectURI: "http://127.0.0.1:1/callback", options: options)
    }
}
