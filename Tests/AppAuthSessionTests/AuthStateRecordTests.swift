import AppAuthProtocol
import AppAuthSession
import Foundation
import AppAuthTestProvider
import TestFixtures
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

    /// RFC 6749 §5.1 lets a server say more; apps of some providers live by it.
    @Test func `additional response members are kept until they change or the session ends`() async throws {
        try await World.run { world in
            func addToResponse(_ more: JSON.Object) {
                world.provider.fault(
                    .editReply { reply in
                        guard var members = try? JSON(parsing: reply.body).object else { return }
                        for member in more.members { members[member.name] = member.value }
                        reply.body = Array(JSON.object(members).serialized().utf8)
                    }, at: .token)
            }
            addToResponse(["patient": "p-1", "device_secret": "hush-hush"])
            let state = try await world.signIn()
            let record = await state.record
            #expect(record.additionalParameters == ["patient": "p-1", "device_secret": "hush-hush"])
            #expect(try AuthStateRecord(decoding: record.encoded(), from: "test") == record)
            #expect(!"\(record)".contains("hush-hush"))
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(await state.record.additionalParameters["patient"] == "p-1")
            addToResponse(["patient": "p-2"])
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(await state.record.additionalParameters == ["patient": "p-2"])
            // Members of another token's response are not the session's.
            addToResponse(["patient": "p-3"])
            _ = try await state.freshAccessToken(parameters: TokenParameters(scope: [.openID]))
            #expect(await state.record.additionalParameters == ["patient": "p-2"])
            try await state.forget()
            #expect(await state.record.additionalParameters.names.isEmpty)
        }
    }

    @Test(arguments: [
        ("", "damaged or does not hold a session"),
        ("{}", "does not hold a session"), ("[]", "does not hold a session"),
        (#"{"format":"other","version":1}"#, "does not hold a session"),
        (#"{"format":"swift-appauth session"}"#, "does not hold a session"),
        (#"{"format":"swift-appauth session","version":3}"#, "version 3, expected version 2"),
        (#"{"format":"swift-appauth session","version":1}"#, "damaged session"),
    ])
    func `anything else is refused, and the error names the location`(text: String, what: String) throws {
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
            let read = try AuthStateRecord(decoding: Array(text.utf8), from: "test")
            #expect(refusal { try read.client.require(.token) }?.code == .invalidMetadata)
        }
        let text = stored.replacing(#""issuer":"https://op.example""#, with: #""issuer":"http://op.example""#)
        #expect(text != stored)
        #expect(refusal { try AuthStateRecord(decoding: Array(text.utf8), from: "test") }?.code == .store)
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
