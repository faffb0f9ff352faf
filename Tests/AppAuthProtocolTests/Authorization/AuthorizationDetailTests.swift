import AppAuthProtocol
import AppAuthSession
import JOSE
import AppAuthTestProvider
import TestFixtures
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
    func `an invalid detail is refused`(json: JSON) {
        #expect(refusal { try AuthorizationDetail(json) }?.code == .invalidResponse)
    }

    @Test func `a request carries them as one JSON array`() throws {
        var options = AuthorizationRequest.Options()
        options.authorizationDetails = [try AuthorizationDetail(payment), AuthorizationDetail("b", actions: ["read"])]
        let sent = try parameter(options)
        #expect(try JSON(parsing: Array(sent.utf8)) == [payment, ["type": "b", "actions": ["read"]]])
    }

    @Test func `details among the extra parameters count the same, and have to be valid`() throws {
        var options = AuthorizationRequest.Options()
        options.additionalParameters = [.init("authorization_details", #"[{"type":"b","actions":["read"]}]"#)]
        #expect(try parameter(options) == #"[{"type":"b","actions":["read"]}]"#)
        for text in [#"{"type":"b"}"#, #"[{"type":"b","actions":"read"}]"#, "[{}]"] {
            options.additionalParameters = [.init("authorization_details", text)]
            let error = refusal { try parameter(options) }
            #expect(error?.code == .invalidConfiguration && error?.outcome == .notSent)
        }
    }

    @Test func `the granted details are kept with the session`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.authorizationDetailsTypes = ["payment_initiation"]
        try await World.run(configuration) { world in
            var options = AuthorizationRequest.Options()
            options.authorizationDetails = [try AuthorizationDetail(payment)]
            let (client, store) = (try await world.client(), MemoryTokenStore())
            let response = try await world.authorize(client, options: options)
            let state = try await AuthState.exchange(response, store: store, environment: world.environment)
            #expect(await state.record.authorizationDetails.map(\.json) == [payment])
            _ = try await state.freshAccessToken(forceRefresh: true)
            let stored = try #require(await store.load())
            #expect(stored.authorizationDetails.map(\.json) == [payment])
            let copy = try AuthStateRecord(decoding: stored.encoded(), from: "here")
            #expect(copy.authorizationDetails == stored.authorizationDetails)
            // invalid_authorization_details (§5).
            options.authorizationDetails = [AuthorizationDetail("unheard_of")]
            let error = await authError { try await world.authorize(client, options: options) }
            #expect(error?.code == "invalid_authorization_details")
        }
    }

    @Test(arguments: [
        Fault.editDocument { $0["authorization_details"] = "all" },
        .editDocument { $0["authorization_details"] = [["actions": []]] },
    ])
    func `details that are none are refused with their response`(fault: Fault) async throws {
        try await World.run { world in
            world.provider.fault(fault, at: .token)
            #expect(await authError { try await world.signIn() }?.code == .invalidResponse)
        }
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
