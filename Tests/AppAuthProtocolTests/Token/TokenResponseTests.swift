import AppAuthProtocol
import Foundation
import HTTPTypes
import JOSE
import TestFixtures
import Testing

/// RFC 6749 §5.1, OpenID Connect Core §3.1.3.3.
struct TokenResponseTests {
    @Test func `the example of RFC 6749 §5.1 is read`() throws {
        let response = try response(
            #"{"access_token":"2YotnFZFEjr1zCsicMWpAA","token_type":"Bearer","expires_in":3600,"#
                + #""refresh_token":"tGzv3JOkF0XG5Qx2TlKWIA","scope":"a b","id_token":"x.y.z","example_parameter":"v"}"#
        )
        #expect(response.accessToken == Secret("2YotnFZFEjr1zCsicMWpAA"))
        #expect(response.refreshToken == Secret("tGzv3JOkF0XG5Qx2TlKWIA"))
        #expect(response.idToken == Secret("x.y.z"))
        #expect(response.lifetime == .seconds(3600))
        #expect(response.scope == ["a", "b"])
    }

    @Test(
        arguments: [
            ("[]", "expected a JSON object, found an empty array"), ("{}", "expected 'access_token', found none"),
            (#"{"access_token":1}"#, "expected 'access_token' to be a string, found a number"),
            (
                #"{"access_token":"ü"}"#,
                "expected 'access_token' to be 1 to 65536 visible ASCII characters, found other characters"
            ),
            (#"{"access_token":""}"#, "expected 'access_token', found none"),
            (#"{"access_token":"a","token_type":"mac"}"#, "expected the token type Bearer, found 'mac'"),
            (#"{"access_token":"a","token_type":"Bearer","expires_in":1e400}"#, "seconds, found 1e400"),
            (#"{"access_token":"a","token_type":"Bearer","expires_in":"soon"}"#, "seconds, found 'soon'"),
            (#"{"access_token":"a","token_type":"Bearer","expires_in":[1]}"#, "seconds, found an array"),
            (#"{"access_token":"a","token_type":"Bearer","authorization_details":{}}"#, "array, found an object"),
            (#"{"access_token":"a" "token_type":"Bearer"}"#, "expected ',' or '}' at byte 20, found '\"'"),
            (#"{"access_token":"a""#, "found the end"),
        ])
    func `a refusal says what was expected and what was found`(body: String, message: String) throws {
        let error = try #require(refusal { try response(body) })
        #expect(error.message.contains(message), "\(error.message)")
    }

    @Test(arguments: ["application/json; charset=UTF-8", nil, "text/html", "text/plain", ""])
    func `a JSON object is one whatever its content type says, and anything else is none`(type: String?) throws {
        #expect(refusal { try response(#"{"access_token":"a","token_type":"Bearer"}"#, type: type) } == nil)
        let error = try #require(refusal { try response("access_token=a&token_type=Bearer", type: type) })
        #expect(error.code == .invalidResponse)
        #expect(error.message.contains("application/json") == !(type?.hasPrefix("application") == true), "\(error)")
    }

    @Test(arguments: [
        "", "a", "[]", "null", #""access_token""#, #"{"access_token":"a","token_type":"Bearer"}x"#,
        #"{"access_token":"a","access_token":"b","token_type":"Bearer"}"#,
        #"{"access_token":"a","token_type":"Bearer""#,
    ])
    func `a body that is not one strict JSON object is refused`(body: String) {
        #expect(refusal { try response(body) }?.code == .invalidResponse)
    }

    @Test(arguments: [
        (#""a""#, true), (#"" ~""#, true), (#""""#, false), ("null", false), ("1", false), (#"["a"]"#, false),
        (#""a\nb""#, false), (#""a\r\nX: y""#, false), (#""\u0000""#, false), (#""é""#, false), (#""\u007f""#, false),
    ])
    func `a token is a text of visible ASCII (RFC 6749 appendix A.12, A.17)`(token: String, isTaken: Bool) {
        for name in ["access_token", "refresh_token", "id_token"] {
            var members = ["access_token": #""a""#, "token_type": #""Bearer""#]
            members[name] = token
            let body = "{" + members.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
            // null and "" count as absent; only the access token may not be absent.
            let isMissing = ["null", "\"\""].contains(token) && name != "access_token"
            #expect((refusal { try response(body) } == nil) == (isTaken || isMissing), "\(name)")
        }
    }

    @Test func `without an access token the response is none`() throws {
        let error = try #require(refusal { try response(#"{"token_type":"Bearer","id_token":"x.y.z"}"#) })
        #expect(error.message.contains("'access_token'"))
    }

    // fapi2-…-token-type-case-insensitivity
    @Test(arguments: [
        (#""Bearer""#, true), (#""bearer""#, true), (#""BEARER""#, true), (#""DPoP""#, false), (#""mac""#, false),
        (#""Bearer ""#, false), (#""""#, false), ("null", true), ("1", false), (#""BearerToken""#, true),
    ])
    func `the token type is Bearer, in any case (RFC 6749 §5.1, §7.1)`(type: String, isTaken: Bool) {
        let error = refusal { try response(#"{"access_token":"a","token_type":\#(type)}"#) }
        #expect((error == nil) == isTaken)
        #expect(
            isTaken || error?.message.contains("token type") == true || error?.message.contains("token_type") == true)
    }

    @Test func `without a token type, the token is a bearer token`() throws {
        #expect(try response(#"{"access_token":"a"}"#).tokenType == .bearer)
    }

    @Test(
        arguments: [
            ("3600", 3600), ("0", 0), (#""3600""#, 3600), (#""0""#, 0), ("3599.9", 3599), ("3.6e3", 3600),
            (#""3599.9""#, 3599), ("null", nil), ("3155760000", 3_155_760_000), ("-0", 0), ("-1", 0), ("-0.1", 0),
            (#""-1""#, 0), ("31536000000", 3_155_760_000), ("9223372036854775807", 3_155_760_000),
            ("1e300", 3_155_760_000),
        ] as [(String, Int?)])
    func `expires_in is a number, or a text that holds one`(value: String, expected: Int?) throws {
        let response = try response(#"{"access_token":"a","token_type":"Bearer","expires_in":\#(value)}"#)
        #expect(response.lifetime == expected.map { .seconds($0) })
    }

    @Test(arguments: [
        "1e400", "-1e400", #"" ""#, #""soon""#,
        #""1e400""#, #""NaN""#, #""Infinity""#, #""0x10""#, #""3600 s""#, #""\"3600\"""#, "true", "[3600]", "{}",
    ])
    func `an absurd expires_in is refused`(value: String) throws {
        let error = try #require(
            refusal { try response(#"{"access_token":"a","token_type":"Bearer","expires_in":\#(value)}"#) })
        #expect(error.code == .invalidResponse)
        #expect(error.message.contains("'expires_in'"))
    }

    // fapi2-…-token-endpoint-response-without-expires_in, fapi1-…-no-scope-in-token-endpoint-response
    @Test func `expires_in and scope may be absent`() throws {
        let response = try response(#"{"access_token":"a","token_type":"Bearer"}"#)
        #expect(response.lifetime == nil)
        #expect(response.scope == nil)
    }

    @Test(
        arguments: [
            (#""a b""#, ["a", "b"]), (#"["a","b"]"#, ["a", "b"]), (#"["a b"]"#, ["a", "b"]), ("[]", nil), ("null", nil),
            (#""""#, nil),
        ] as [(String, [Scope]?)])
    func `a scope is a text, or an array of texts`(scope: String, expected: [Scope]?) throws {
        #expect(try response(#"{"access_token":"a","token_type":"Bearer","scope":\#(scope)}"#).scope == expected)
    }

    @Test(arguments: ["1", "[1]", #"["a",1]"#, "{}", "true"])
    func `a scope of another type is refused`(scope: String) {
        #expect(refusal { try response(#"{"access_token":"a","token_type":"Bearer","scope":\#(scope)}"#) } != nil)
    }

    @Test(arguments: [("\u{FEFF}", true), ("\u{FEFF}\u{FEFF}", false), (" \u{FEFF}", false)])
    func `a byte order mark before the object is ignored (RFC 8259 §8.1)`(mark: String, isTaken: Bool) {
        #expect((refusal { try response(mark + #"{"access_token":"a","token_type":"Bearer"}"#) } == nil) == isTaken)
    }

    private func response(_ body: String, type: String? = "application/json") throws -> TokenResponse {
        var response = HTTPResponse(status: .ok)
        response.headerFields[.contentType] = type
        return try TokenResponse(
            TransportResponse(response, body: Array(body.utf8)),
            received: Timestamp(wall: Date(timeIntervalSince1970: 0)),
            stage: .token)
    }
}
