import AppAuthProtocol
import JOSE
import TestFixtures
import Testing

/// The address that a user copies from a browser elsewhere: the checks of a redirect that came by itself, and those that
/// the listener's address made unneeded there.
struct PastedRedirectTests {
    private let request: AuthorizationRequest
    private static let uri = "http://127.0.0.1:41235/callback"

    init() throws { request = try Self.request() }

    @Test(arguments: [
        "URI?code=c&state=STATE", "URI?state=STATE&code=c&session_state=x", "  URI?code=c&state=STATE\r\n",
        "\tURI?code=c&state=STATE#_=_", "\"URI?code=c&state=STATE\"", "<URI?code=c&state=STATE>\n",
        "URI?code=c&state=STATE&iss=https%3A%2F%2Fop.example",
    ])
    func `the whole address is taken`(_ text: String) throws {
        let response = try paste(text)
        #expect(response.code.reveal() == "c")
        #expect(response.request.state == request.state)
    }

    @Test(arguments: [
        ("c", "not just the code"), ("SplxlOBeZQQYbYS6WxSbIA", "not just the code"), ("", "paste the whole address"),
        ("?code=c&state=STATE", "a part of the address"), ("code=c&state=STATE", "a part of the address"),
        ("127.0.0.1:41235/callback?code=c&state=STATE", "a part of the address"),
        ("https://127.0.0.1:41235/callback?code=c&state=STATE", "another scheme"),
        ("HTTP://127.0.0.1:41235/callback?code=c&state=STATE", "another scheme"),
        ("http://127.0.0.1:41236/callback?code=c&state=STATE", "another host or port"),
        ("http://127.0.0.1/callback?code=c&state=STATE", "another host or port"),
        ("http://localhost:41235/callback?code=c&state=STATE", "another host or port"),
        ("http://127.0.0.1:41235@evil.example/callback?code=c&state=STATE", "another host or port"),
        ("http://evil.example/callback?code=c&state=STATE", "another host or port"),
        ("http://127.0.0.1:41235/callback/?code=c&state=STATE", "another path"),
        ("http://127.0.0.1:41235/Callback?code=c&state=STATE", "another path"),
        ("http://127.0.0.1:41235/callback/done/x?code=c&state=STATE", "another path"),
        ("http://127.0.0.1:41235/callback\u{301}?code=c&state=STATE", "another path"),
        ("http://127.0.0.1:41235", "another path"), ("http://", "another host or port"),
        ("URI", "no 'state'"), ("URI?", "no 'state'"), ("URI?code=c", "no 'state'"),
        ("URI?error=access_denied", "no 'state'"), ("URI?code=%zz", "no 'state'"),
        ("URI#code=c&state=STATE", "no 'state'"), ("URI?code=c#&state=STATE", "no 'state'"),
        ("URI?code=c&state=other", "another sign-in"), ("URI?error=access_denied&state=other", "another sign-in"),
        ("URI?code=c&state=", "another sign-in"), ("URI?code=c&state=STATEx", "another sign-in"),
        ("URI?\u{301}code=c&state=other", "another sign-in"),
    ])
    func `any other paste is refused, and the request stays usable`(_ text: String, _ what: String) throws {
        let error = try #require(refusal { try paste(text) })
        #expect(error.code == .wrongPaste)
        #expect(error.stage == .redirect)
        #expect(error.message.contains(what), "\(error.message)")
        #expect(try paste("URI?code=c&state=STATE").code.reveal() == "c")
    }

    /// A narrow terminal has broken the line.
    @Test func `an address that is cut off is said to be`() throws {
        for count in [1, 20, request.state.reveal().count - 1] {
            let error = refusal { try paste("URI?code=c&state=\(request.state.reveal().prefix(count))") }
            #expect(error?.code == .wrongPaste && error?.message.contains("cut off") == true, "\(error as Any)")
        }
    }

    @Test func `the address that the sign-in begins at is recognised`() throws {
        let error = try #require(refusal { try request.response(fromPasted: request.url) })
        #expect(error.code == .wrongPaste)
        #expect(error.message.contains("starts the sign-in") && error.message.contains("\(Self.uri)?"))
    }

    @Test(arguments: [
        ("code=c&state=STATE&iss=https://evil.example", AuthError.Code.invalidRedirect),
        ("code=c&state=STATE&state=other", .invalidRedirect), ("code=c&code=d&state=STATE", .invalidRedirect),
        ("state=STATE", .invalidRedirect), ("error=access_denied&state=STATE", .accessDenied),
        ("code=%FF&state=STATE", .invalidRedirect),
    ])
    func `with the right state anything wrong ends the request, as by the listener`(
        _ query: String, _ code: AuthError.Code
    ) throws {
        #expect(refusal { try paste("URI?\(query)") }?.code == code)
    }

    @Test func `an iss that was promised must be there`() throws {
        let promising = try Self.request(promisesIssuer: true)
        #expect(refusal { try paste("URI?code=c&state=STATE", to: promising) }?.code == .invalidRedirect)
        #expect(try paste("URI?code=c&state=STATE&iss=https://op.example", to: promising).code.reveal() == "c")
    }

    @Test func `16 KiB are taken, and no byte more`() throws {
        let rest = "URI?state=STATE&code=".replacing("URI", with: Self.uri).replacing(
            "STATE", with: request.state.reveal())
        let code = String(repeating: "c", count: AuthorizationRequest.pasteLimit - rest.utf8.count)
        #expect(try paste(rest + code).code.reveal() == code)
        let error = try #require(refusal { try paste(rest + code + "c") })
        #expect(error.code == .wrongPaste && error.message.contains("16384 bytes"))
    }

    @Test func `no message contains any part of the paste`() throws {
        for text in [
            "sEcReT", "URI?code=sEcReT", "code=sEcReT", "https://sEcReT/?code=sEcReT", "URI?code=sEcReT&state=sEcReT",
            "URI/sEcReT", request.url + "&x=sEcReT",
        ] {
            let error = try #require(refusal { try paste(text) })
            #expect(!error.message.contains("sEcReT") && !error.message.contains(request.state.reveal()))
        }
    }

    @Test func `a server cannot make its refusal look like a wrong paste`() throws {
        #expect(refusal { try paste("URI?error=wrong_paste&state=STATE") }?.code == .invalidResponse)
    }

    private func paste(_ text: String, to request: AuthorizationRequest? = nil) throws -> AuthorizationResponse {
        let request = request ?? self.request
        return try request.response(
            fromPasted: text.replacing("URI", with: Self.uri).replacing("STATE", with: request.state.reveal()))
    }

    private static func request(promisesIssuer: Bool = false) throws -> AuthorizationRequest {
        let provider = try ProviderMetadata(
            issuer: "https://op.example", endpoints: [.authorization: "https://op.example/authorize"],
            more: ["authorization_response_iss_parameter_supported": .bool(promisesIssuer)])
        return try AuthorizationRequest(client: Client(id: "a", provider: provider), redirectURI: uri)
    }
}
