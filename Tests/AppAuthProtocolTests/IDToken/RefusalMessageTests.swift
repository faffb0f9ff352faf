import AppAuthProtocol
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// A refusal names the expected and the found value, and repeats nothing that is not for the log.
struct RefusalMessageTests {
    private func message(_ name: String, _ value: JSON?) throws -> String {
        let signer = try Signer()
        var expected = IDTokenVerifier.Expectations.usual
        expected.accessToken = Signer.accessToken
        let token = try signer.token { $0[name] = value }
        return try #require(refusal { try Signer.verifier().verify(token, keys: signer.keys, expecting: expected) })
            .message
    }

    @Test(
        arguments: [
            ("aud", nil, "expected 'aud' to be a string or an array of strings, found none"),
            ("aud", 7, "expected 'aud' to be a string or an array of strings, found a number"),
            ("aud", ["a", 1], "expected 'aud' to be a string or an array of strings, found an array"),
            ("aud", "other", "found 'other'"), ("azp", "other", "expected 'azp' to be 's6BhdRkqt3', found 'other'"),
            ("azp", true, "found true or false"), ("iss", 1, "found a number"), ("iss", .null, "found none"),
            ("sub", nil, "expected 'sub' of 1 to 255 ASCII characters, found none"),
            ("sub", ["a": 1], "expected 'sub' of 1 to 255 ASCII characters, found an object"),
            ("sub", "", "expected 'sub' of 1 to 255 ASCII characters, found 0"),
            ("sub", .string(String(repeating: "s", count: 256)), "found 256"),
            ("sub", "jané", "found other characters"),
            // Of the access token that OpenID Connect Core prints in its appendix A.3.
            ("at_hash", "AA", "expected 'at_hash' to be '77QmUPtjPfzWtF2AnpK9RQ', found 'AA'"),
            ("at_hash", 1, "found a number"),
        ] as [(String, JSON?, String)])
    func `of an ID token it says both`(name: String, value: JSON?, expected: String) throws {
        let message = try message(name, value)
        #expect(message.contains(expected), "\(message)")
    }

    @Test func `it repeats no subject, and is always one short line`() throws {
        #expect(try !message("sub", "jané").contains("jan"))
        #expect(try !message("sub", .string(String(repeating: "jane", count: 70))).contains("jane"))
        let long = try message("azp", .string("a\nb\u{202E}" + String(repeating: "x", count: 5000)))
        #expect(!long.contains("\n") && !long.contains("\u{202E}") && long.unicodeScalars.count < 400)
    }

    @Test(
        arguments: [
            ("all", "with 'type', found a string"), ([:], "found one with none"),
            (["type": 1], "found one with a number"),
            (["type": ""], "found one with ''"),
            (["type": "t", "actions": "read"], "expected 'actions' to be an array of strings, found a string"),
            (["type": "t", "actions": ["read", 1]], "found an array with other values"),
            (["type": "t", "identifier": 4], "expected 'identifier' to be a string, found a number"),
        ] as [(JSON, String)])
    func `of authorization details it says both`(json: JSON, expected: String) {
        let error = refusal { try AuthorizationDetail(json) }
        #expect(error?.message.contains(expected) == true, "\(String(describing: error))")
    }

    @Test(
        arguments: [
            ("request_uri", nil, "expected 'request_uri', found none"),
            ("request_uri", "", "expected 'request_uri', found none"),
            (
                "request_uri", .string(String(repeating: "a", count: 2049)),
                "expected 'request_uri' to be 1 to 2048 visible ASCII characters, found 2049"
            ),
            ("request_uri", "urn:a b", "found other characters"),
            ("request_uri", 1, "found a number"), ("expires_in", nil, "expected 'expires_in', found none"),
            ("expires_in", "soon", "seconds, found 'soon'"), ("expires_in", 0, "to be 1 to"),
        ] as [(String, JSON?, String)])
    func `of a pushed request's response it says both`(name: String, value: JSON?, expected: String) async throws {
        try await World.run { world in
            world.provider.fault(.editDocument { $0[name] = value }, at: .pushedAuthorization)
            var options = AuthorizationRequest.Options()
            options.isPushed = true
            let client = try await world.client()
            let failure = await authError { try await world.authorize(client, options: options) }
            let error = try #require(failure)
            #expect(error.message.contains(expected), "\(error.message)")
            #expect(!error.message.contains("urn:"))
        }
    }
}
