import AppAuthProtocol
import Foundation
import HTTPTypes
import JOSE
import Testing

/// What `print` shows of the values that an app holds.
struct DescriptionTests {
    @Test func `printed claims are one line of JSON`() throws {
        let text = #"{"sub":"24","name":"Jane Doe","groups":["staff"]}"#
        let claims = Claims(try #require(try JSON(parsing: text).object))
        #expect("\(claims)" == text && String(reflecting: claims) == text)
    }

    @Test func `a printed token response is one line of JSON without secrets`() throws {
        let body: JSON = [
            "access_token": "SECRET-1", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "SECRET-2",
            "id_token": "SECRET-3", "scope": "openid email", "vendor_key": "SECRET-4",
        ]
        var head = HTTPResponse(status: .ok)
        head.headerFields[.contentType] = "application/json"
        let response = try TokenResponse(
            TransportResponse(head, body: Array(body.serialized().utf8)),
            received: Timestamp(wall: Date(timeIntervalSince1970: 0)),
            stage: .token)
        let expected =
            #"{"token_type":"Bearer","expires_in":3600,"scope":"openid email","has_refresh_token":true,"has_id_token":true}"#
        #expect("\(response)" == expected && String(reflecting: response) == expected)
        var dumped = ""
        dump(response, to: &dumped)
        #expect(!dumped.contains("SECRET"))
    }
}
