import AppAuthProtocol
import AppAuthSession
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

struct StoredRecordTests {
    private static let issuer = "https://accounts.example.org"

    private func record(_ authentication: ClientAuthentication = .none, expiresAt: Date? = nil) throws
        -> AuthStateRecord
    {
        let provider = try ProviderMetadata(
            issuer: Issuer(Self.issuer), endpoints: [.token: Self.issuer + "/token"],
            more: ["claims_parameter_supported": true, "x-number": try JSON(parsing: Array("1.10e400".utf8))])
        return try AuthStateRecord(
            client: Client(id: "app", authentication: authentication, provider: provider), scope: [.openID, "a/b"],
            accessToken: AccessToken(
                value: Secret("at"), issuedAt: Date(timeIntervalSince1970: 1_750_000_000.25), expiresAt: expiresAt),
            refreshToken: Secret("rt"))
    }

    private func reread(_ record: AuthStateRecord) throws -> AuthStateRecord {
        try AuthStateRecord(decoding: record.encoded(), from: "test")
    }

    /// The stored JSON with some of it changed.
    private func changed(
        _ record: AuthStateRecord, _ change: (inout JSON.Object) -> Void
    ) throws -> AuthStateRecord {
        var members = try #require(try JSON(parsing: record.encoded()).object)
        change(&members)
        return try AuthStateRecord(decoding: Array(JSON.object(members).serialized().utf8), from: "test")
    }

    /// A `Date` has more digits than the seconds since 1970 that are stored.
    @Test func `a token that was read back equals the one that was stored`() throws {
        for step in 0..<64 {
            let date = Date(timeIntervalSinceReferenceDate: 817_278_460.5 + Double(step) * 0x1p-23)
            let token = AccessToken(value: Secret("at"), received: Timestamp(wall: date), lifetime: .seconds(60))
            let record = try AuthStateRecord(client: record().client, accessToken: token, refreshToken: nil)
            #expect(try reread(record).accessToken == token)
        }
    }

    @Test func `a session can be used as long as it has a valid access token, or can be renewed`() throws {
        let now = Timestamp(wall: Date(timeIntervalSince1970: 1_750_000_000.5))
        let record = try record(expiresAt: now.wall + 1)
        let renewed = try changed(record) { $0["accessToken"] = nil }
        let unrenewed = try changed(record) { $0["refreshToken"] = nil }
        let empty = try changed(record) { ($0["accessToken"], $0["refreshToken"]) = (nil, nil) }
        #expect([record, renewed, unrenewed, empty].map { $0.isUsable(at: now) } == [true, true, true, false])
        let later = Timestamp(wall: now.wall + 2)
        #expect([record, renewed, unrenewed, empty].map { $0.isUsable(at: later) } == [true, true, false, false])
    }

    @Test func `a session from a sign-in is read as it was written, also after its end`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let signedIn = await state.record
            let read = try reread(signedIn)
            #expect(read == signedIn)
            #expect(read.keys != nil && read.idToken?.subject == signedIn.idToken?.subject)
            try await state.forget()
            let ended = await state.record
            #expect(try reread(ended) == ended)
            #expect(ended.end != nil && ended != signedIn)
        }
    }

    @Test(arguments: [
        ("count", Fault.status(.internalServerError), 500),
        ("refusals", .status(.badRequest, json: ["error": "invalid_request"]), 400),
    ])
    func `a count of failures that no provider can reach is counted no further`(
        member: String, fault: Fault, status: Int
    ) async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            world.provider.fault(fault, at: .token, times: nil)
            _ = await authError { try await state.freshAccessToken(forceRefresh: true) }
            let stored = try #require(await store.record)
            let greatest = try changed(stored) { members in
                var backoff = members["backoff"]?.object ?? [:]
                backoff[member] = .number(.init(Int.max))
                members["backoff"] = .object(backoff)
            }
            #expect(greatest.backoff != stored.backoff)
            await store.put(greatest)
            let next = try #require(await AuthState(restoring: store, environment: world.environment))
            world.clock.advance(by: 120)
            let error = await authError { try await next.freshAccessToken(forceRefresh: true) }
            #expect(error?.httpStatus == status && error?.retryDelay != nil)
        }
    }

    @Test(arguments: [#""é":"1","e":"2""#, #""\u00e9":"1","e\u0301":"2""#])
    func `names that Swift considers equal are a damaged session`(names: String) async throws {
        try await World.run { world in
            let state = try await world.signIn()
            _ = try await state.freshAccessToken(parameters: TokenParameters(others: ["x": "1"]))
            let text = String(decoding: try await state.record.encoded(), as: UTF8.self)
            let changed = text.replacing(#""others":{"x":"1"}"#, with: #""others":{\#(names)}"#)
            #expect(changed != text)
            let isDamaged = names.contains("0301")
            if isDamaged {
                #expect(throws: AuthError.self) { try AuthStateRecord(decoding: Array(changed.utf8), from: "test") }
            } else {
                _ = try AuthStateRecord(decoding: Array(changed.utf8), from: "test")
            }
        }
    }

    /// An expiry in milliseconds that was taken for seconds, for example.
    @Test func `a token with a very long lifetime is read back`() throws {
        let record = try record(expiresAt: Date(timeIntervalSince1970: 1_750_000_000_250))
        let read = try reread(record)
        #expect(read.accessToken?.expiresAt == record.accessToken?.expiresAt)
    }

    @Test(arguments: [
        ClientAuthentication.none, .clientSecretBasic(Secret("s\u{E9}\"")), .clientSecretPost(Secret("s")),
    ])
    func `the client's authentication is kept`(authentication: ClientAuthentication) throws {
        let read = try reread(record(authentication))
        #expect(read.client.authentication == authentication)
    }

    @Test func `the rules for ID tokens are kept, and default rules are not stored`() throws {
        var record = try record()
        #expect(!String(decoding: try record.encoded(), as: UTF8.self).contains("idTokenRules"))
        record.client.idTokenRules.trustedAudiences = ["b", "a"]
        record.client.idTokenRules.leeway = .seconds(5)
        record.client.idTokenRules.maximumAge = .milliseconds(1500)
        #expect(try reread(record) == record)
        record.client.idTokenRules.signedResponseAlgorithm = "ES256"
        #expect(try reread(record) == record)
    }

    @Test func `numbers of the metadata keep their text, dates their fractions`() throws {
        let record = try record(expiresAt: Date(timeIntervalSince1970: 1_750_003_600.5))
        let read = try reread(record)
        #expect(read == record)
        #expect(read.client.provider.document["x-number"]?.serialized() == "1.10e400")
        #expect(read.accessTokenExpiresAt?.timeIntervalSince1970 == 1_750_003_600.5)
    }

    @Test func `metadata is read back that is nested as deep as a server may send it`() throws {
        let nested = String(repeating: "[", count: 63) + String(repeating: "]", count: 63)
        let document = try JSON(parsing: Array(#"{"issuer":"\#(Self.issuer)","x":\#(nested)}"#.utf8))
        let client = Client(id: "app", provider: try ProviderMetadata(document: document))
        let record = try AuthStateRecord(client: client, accessToken: nil, refreshToken: nil)
        #expect(try reread(record) == record)
    }

    @Test func `a date that is no number of seconds is not stored`() throws {
        let token = AccessToken(
            value: Secret("at"), received: Timestamp(wall: Date(timeIntervalSince1970: .infinity)), lifetime: nil)
        let record = try AuthStateRecord(client: record().client, accessToken: token, refreshToken: nil)
        #expect(refusal { try record.encoded() }?.code == .store)
    }

    @Test(arguments: ["id", "client", "scope"])
    func `a record without a member that it needs is damaged`(name: String) throws {
        let record = try record()
        #expect(try changed(record) { $0["unknown"] = 1 } == record)
        #expect(refusal { try changed(record) { $0[name] = nil } }?.message.contains("damaged session") == true)
    }

    @Test(arguments: ["id", "client", "scope", "accessToken", "refreshToken", "nonce", "redirectURI", "keys", "end"])
    func `a record with a member of the wrong kind is damaged`(name: String) throws {
        let error = refusal { try changed(record()) { $0[name] = 1 } }
        #expect(error?.code == .store)
        #expect(error?.message.contains("damaged session") == true)
    }

    @Test func `another method of authentication, or one without its secret, is damaged`() throws {
        func authentication(_ value: JSON) throws -> AuthStateRecord {
            try changed(record(.clientSecretBasic(Secret("s")))) { members in
                guard case .object(var client)? = members["client"] else { return }
                client["authentication"] = value
                members["client"] = .object(client)
            }
        }
        #expect(throws: Never.self) { try authentication(["method": "client_secret_post", "secret": "s"]) }
        #expect(refusal { try authentication(["method": "tls_client_auth", "secret": "s"]) }?.code == .store)
        #expect(refusal { try authentication(["method": "client_secret_post"]) }?.code == .store)
        #expect(refusal { try authentication(["method": "none", "secret": "s"]) }?.code == .store)
    }

    @Test func `another format and a later version are distinguished from damage`() throws {
        let other = refusal { try changed(record()) { $0["format"] = "another" } }
        #expect(other?.message.contains("does not hold a session") == true)
        let later = refusal { try changed(record()) { $0["version"] = 3 } }
        #expect(later?.message.contains("version 3, expected version 2") == true)
        let cut = refusal { try AuthStateRecord(decoding: Array(try record().encoded().dropLast()), from: "test") }
        #expect(cut?.message.contains("does not hold a session") == true)
    }
}
