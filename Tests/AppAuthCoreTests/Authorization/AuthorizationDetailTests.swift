import AppAuthCore
import JOSE
import Testing

/// RFC 9396 §2.
struct AuthorizationDetailTests {
    private let payment: JSON = [
        "type": "payment_initiation", "locations": ["https://example.com/payments"], "actions": ["initiate", "cancel"],
        "datatypes": ["contacts"], "identifier": "account-14", "privileges": ["admin"],
        "instructedAmount": ["currency": "EUR", "amount": "123.50"],
    ]

    @Test func `every member of §2 is read and written, and the type's own with it`() throws {
        let detail = try AuthorizationDetail(payment)
        #expect(detail.type == "payment_initiation")
        #expect(detail.locations == ["https://example.com/payments"])
        #expect(detail.actions == ["initiate", "cancel"])
        #expect(detail.dataTypes == ["contacts"])
        #expect(detail.identifier == "account-14")
        #expect(detail.privileges == ["admin"])
        #expect(detail.others["instructedAmount"]?["amount"]?.string == "123.50")
        #expect(detail.json == payment)
    }

    @Test(
        arguments: [
            [], ["type": ""], ["type": 1], ["type": "a", "actions": "read"], ["type": "a", "locations": [1]],
            ["type": "a", "identifier": 7], "a",
        ] as [JSON])
    func `what is none is refused`(json: JSON) {
        #expect(refusal { try AuthorizationDetail(json) }?.code == .invalidResponse)
    }

    @Test func `a request carries them as one JSON array`() throws {
        var options = AuthorizationRequest.Options()
        options.authorizationDetails = [try AuthorizationDetail(payment), AuthorizationDetail("b", actions: ["read"])]
        let sent = try parameter(options)
        #expect(try JSON(parsing: Array(sent.utf8)) == [payment, ["type": "b", "actions": ["read"]]])
    }

    @Test func `those among the extra parameters count the same, and have to be right`() throws {
        var options = AuthorizationRequest.Options()
        options.additionalParameters = [.init("authorization_details", #"[{"type":"b","actions":["read"]}]"#)]
        #expect(try parameter(options) == #"[{"type":"b","actions":["read"]}]"#)
        options.additionalParameters = [.init("authorization_details", #"{"type":"b"}"#)]
        #expect(refusal { try parameter(options) }?.code == .invalidConfiguration)
    }

    private func parameter(_ options: AuthorizationRequest.Options) throws -> String {
        let client = try Client(
            id: "c",
            provider: ProviderMetadata(
                issuer: "https://op.example",
                endpoints: [.authorization: "https://op.example/a", .token: "https://op.example/t"]))
        let request = try AuthorizationRequest(client: client, redirectURI: "http://127.0.0.1/cb", options: options)
        return try #require(request.parameters.values("authorization_details").first)
    }
}
