import AppAuthCore
import Foundation
import Testing

/// The stored form of a session.
struct AuthStateRecordTests {
    private let record: AuthStateRecord

    init() throws {
        let provider = try ProviderMetadata(
            issuer: "https://op.example", endpoints: [.token: "https://op.example/token"])
        let client = Client(id: "ü", authentication: .clientSecretPost(Secret("hunter2hunter2")), provider: provider)
        let token = AccessToken(
            value: Secret("access-1234"), issuedAt: Date(timeIntervalSince1970: 1_750_000_000.25),
            expiresAt: Date(timeIntervalSince1970: 1_750_003_600.25))
        record = try AuthStateRecord(
            client: client, scope: [.openID, .email], accessToken: token, refreshToken: Secret("refresh-1234"))
    }

    @Test func `it survives being stored`() throws {
        let stored = try record.encoded()
        #expect(try AuthStateRecord(decoding: stored, from: "test") == record)
        let text = String(decoding: stored, as: UTF8.self)
        #expect(text.contains(#""format":"swift-appauth session""#))
        #expect(text.contains(#""version":1"#))
        #expect(text.contains(#""wall":1750000000.25"#))
    }

    @Test func `a whole session survives being stored`() async throws {
        try await World.run { world in
            let record = try await world.signIn().record
            let back = try AuthStateRecord(decoding: record.encoded(), from: "test")
            #expect(back == record)
            #expect(back.idToken == record.idToken)
            #expect(back.nonce == record.nonce)
        }
    }

    @Test(arguments: [
        ("", "damaged or holds something else"), ("{}", "something else"), ("[]", "something else"),
        (#"{"format":"other","version":1}"#, "something else"),
        (#"{"format":"swift-appauth session"}"#, "something else"),
        (#"{"format":"swift-appauth session","version":2}"#, "version 2, expected version 1"),
        (#"{"format":"swift-appauth session","version":1}"#, "damaged session"),
    ])
    func `anything else is refused, and the error names the place`(text: String, what: String) throws {
        let error = try #require(refusal { try AuthStateRecord(decoding: Array(text.utf8), from: "file:/x/y.json") })
        #expect(error.code == .store)
        #expect(error.message.contains("file:/x/y.json"))
        #expect(error.message.contains(what), "\(error.message)")
    }

    @Test func `a record that lost its end, or a byte, is refused or read as it is, and never trusted in part`() throws
    {
        let stored = try record.encoded()
        for count in 0..<stored.count {
            #expect(refusal { try AuthStateRecord(decoding: Array(stored[..<count]), from: "test") }?.code == .store)
        }
    }

    @Test func `a provider in a record is checked like any other`() throws {
        let stored = String(decoding: try record.encoded(), as: UTF8.self)
        for wrong in ["http://op.example/token", "https://op.example/token#"] {
            let text = stored.replacing("https://op.example/token", with: wrong)
            #expect(refusal { try AuthStateRecord(decoding: Array(text.utf8), from: "test") }?.code == .store)
        }
    }

    @Test func `printing it shows no secret`() {
        var texts = ["\(record)", String(reflecting: record), ""]
        dump(record, to: &texts[2])
        for text in texts {
            #expect(text.contains("op.example"))
            for secret in ["hunter2", "access-1234", "refresh-1234"] { #expect(!text.contains(secret)) }
        }
    }
}
