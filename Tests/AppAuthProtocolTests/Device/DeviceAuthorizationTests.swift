import AppAuthProtocol
import Foundation
import HTTPTypes
import JOSE
import TestFixtures
import Testing

/// The members of a device authorization response (RFC 8628 §3.2), without a server.
struct DeviceAuthorizationTests {
    private static let issuer = "https://op.example"

    private static func request(
        _ more: [AuthorizationRequest.Options.Parameter] = [], scope: [Scope] = [.openID, .profile],
        clientID: String = "s6BhdRkqt3"
    ) throws -> DeviceAuthorizationRequest {
        let provider = try ProviderMetadata(
            issuer: Issuer(issuer), endpoints: [.token: issuer + "/token", .deviceAuthorization: issuer + "/device"])
        return try DeviceAuthorizationRequest(
            client: Client(id: clientID, provider: provider), scope: scope, additionalParameters: more)
    }

    /// The example of RFC 8628 §3.2, and a change.
    private static func authorization(
        type: String? = "application/json", _ change: (inout JSON.Object) -> Void = { _ in }
    ) throws -> DeviceAuthorization {
        var document: JSON.Object = [
            "device_code": "GmRhmhcxhwAzkoEqiMEg_DnyEysNkuNhszIySk9eS", "user_code": "WDJB-MJHT",
            "verification_uri": "https://example.com/device",
            "verification_uri_complete": "https://example.com/device?user_code=WDJB-MJHT", "expires_in": 1800,
            "interval": 5,
        ]
        change(&document)
        var response = HTTPResponse(status: .ok)
        response.headerFields[.contentType] = type
        return try DeviceAuthorization(
            TransportResponse(response, body: Array(JSON.object(document).serialized().utf8)), to: request(),
            received: Timestamp(wall: Signer.now))
    }

    @Test func `the example of the RFC is read`() throws {
        let authorization = try Self.authorization()
        #expect(authorization.deviceCode.reveal() == "GmRhmhcxhwAzkoEqiMEg_DnyEysNkuNhszIySk9eS")
        #expect(authorization.userCode == "WDJB-MJHT")
        #expect(authorization.verificationURI.string == "https://example.com/device")
        #expect(authorization.verificationURIComplete?.string == "https://example.com/device?user_code=WDJB-MJHT")
        #expect(authorization.expiresIn == .seconds(1800))
        #expect(authorization.expiresAt == Signer.now + 1800)
        #expect(authorization.interval == .seconds(5))
    }

    /// The two pages, and whether one is not on the issuer's origin (RFC 8628 §5.4).
    @Test(
        arguments: [
            ("https://op.example/device", nil, false), ("https://OP.example:443/d", "https://op.example/d?a=b", false),
            ("https://honest.example/device", nil, true), ("https://login.op.example/device", nil, true),
            ("https://op.example:8443/device", nil, true),
            ("https://op.example/device", "https://honest.example/device?user_code=WDJB-MJHT", true),
        ] as [(String, String?, Bool)])
    func `a page that is not the issuer's is noticed`(page: String, complete: String?, isElsewhere: Bool) throws {
        let authorization = try Self.authorization {
            ($0["verification_uri"], $0["verification_uri_complete"]) = (.string(page), complete.map(JSON.string))
        }
        #expect(authorization.isElsewhere == isElsewhere)
    }

    // RFC 8628 §3.2: interval is OPTIONAL, and 5 where it is missing.
    @Test(
        arguments: [
            (nil, 5), (.null, 5), (7, 7), ("7", 7), (0, 1), ("0.2", 1), ("1.5", 2), (-1, 5), ("often", 5),
            (4_000_000_000, 5),
        ] as [(JSON?, Int)])
    func `the interval is at least a second`(interval: JSON?, seconds: Int) throws {
        #expect(try Self.authorization { $0["interval"] = interval }.interval == .seconds(seconds))
    }

    @Test(arguments: ["http://example.com/device?user_code=WDJB-MJHT", "/device", 1, false] as [JSON])
    func `a complete URL that cannot be used is left out`(url: JSON) throws {
        #expect(try Self.authorization { $0["verification_uri_complete"] = url }.verificationURIComplete == nil)
    }

    @Test(arguments: [("1800", 1800), ("1.9", 1)] as [(JSON, Int)])
    func `the lifetime may be a string or have a fraction`(lifetime: JSON, seconds: Int) throws {
        #expect(try Self.authorization { $0["expires_in"] = lifetime }.expiresIn == .seconds(seconds))
    }

    @Test func `optional members may be missing, and the URI may have its name of the draft`() throws {
        let authorization = try Self.authorization {
            $0["verification_url"] = $0["verification_uri"]
            $0["verification_uri"] = nil
            $0["verification_uri_complete"] = nil
        }
        #expect(authorization.verificationURI.string == "https://example.com/device")
        #expect(authorization.verificationURIComplete == nil)
    }

    @Test(
        arguments: [
            ("device_code", nil), ("device_code", 1), ("device_code", ""), ("device_code", "a\nb"),
            ("device_code", .string(String(repeating: "a", count: 8193))), ("user_code", nil), ("user_code", ""),
            ("user_code", " "), ("user_code", "WDJB\u{1B}[2J"), ("user_code", "WDJB-MJHÜ"),
            ("user_code", .string(String(repeating: "A", count: 33))), ("user_code", "enter A1 at honest.example"),
            ("user_code", "honest:8080/A1"), ("verification_uri", nil),
            ("verification_uri", "http://example.com/device"), ("verification_uri", "javascript:alert(1)"),
            ("verification_uri", "https://example.com/\u{1B}[2J"), ("verification_uri", "https://a@example.com/"),
            ("expires_in", nil), ("expires_in", 0), ("expires_in", -1), ("expires_in", 4_000_000_000),
            ("expires_in", "soon"), ("expires_in", .null),
        ] as [(String, JSON?)])
    func `one wrong member is refused and named`(name: String, value: JSON?) throws {
        let error = try #require(refusal { try Self.authorization { $0[name] = value } })
        #expect(error.code == .invalidResponse && error.outcome == .perhapsProcessed && error.httpStatus == 200)
        #expect(error.stage == .authorization)
        #expect(error.message.contains("'\(name)'"), "\(error)")
        #expect(error.message.unicodeScalars.allSatisfy { $0.value >= 0x20 })
    }

    @Test(arguments: ["text/html", nil] as [String?])
    func `another content type is accepted`(type: String?) throws {
        #expect(refusal { try Self.authorization(type: type) } == nil)
    }

    @Test func `the request contains the scope and the app's parameters`() throws {
        let request = try Self.request([.init("audience", "https://api.example")])
        #expect(request.form.encoded == "scope=openid+profile&audience=https%3A%2F%2Fapi.example")
        #expect(try Self.request(scope: []).form.items.isEmpty)
    }

    @Test(arguments: DeviceAuthorizationRequest.reservedParameters.sorted())
    func `a parameter of the library cannot be added`(name: String) throws {
        #expect(refusal { try Self.request([.init(name, "x")]) }?.code == .invalidConfiguration)
    }

    @Test(arguments: ["", "a b", "a\"b", "a\\b", "ä"])
    func `an invalid scope value is refused`(scope: String) throws {
        #expect(refusal { try Self.request(scope: [Scope(rawValue: scope)]) }?.code == .invalidConfiguration)
    }

    @Test func `an empty client id is refused`() throws {
        #expect(refusal { try Self.request(clientID: "") }?.code == .invalidConfiguration)
    }

    @Test func `a parameter twice is refused`() throws {
        let twice = [AuthorizationRequest.Options.Parameter("audience", "a"), .init("audience", "b")]
        #expect(refusal { try Self.request(twice) }?.message.contains("'audience' is given twice") == true)
    }

    @Test func `neither code is printed`() throws {
        let authorization = try Self.authorization()
        var dumped = ""
        dump(authorization, to: &dumped)
        for text in ["\(authorization)", String(reflecting: authorization), dumped] {
            #expect(!text.contains("WDJB-MJHT") && !text.contains("GmRhmhcx"), "\(text)")
        }
    }
}
