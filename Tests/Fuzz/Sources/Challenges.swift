internal import AppAuth
internal import AppAuthProtocol
internal import AppAuthSession
internal import HTTPTypes
internal import JOSE

/// The invariants of a `WWW-Authenticate` field (RFC 9110 §11.6.1).
enum Challenges {
    @Sendable static func check(_ input: [UInt8]) {
        let field = String(decoding: input, as: UTF8.self)
        let challenges = Challenge.challenges(in: field)
        for challenge in challenges {
            expect(!challenge.scheme.isEmpty || !challenge.parameters.isEmpty, "a challenge of nothing")
            for name in [challenge.scheme] + challenge.parameters.keys {
                let isLower = !name.utf8.contains { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 }
                expect(isLower, "a name that is not lower case")
                expect(!name.contains { " \t,=\"".contains($0) }, "a name that is no token")
            }
            for value in challenge.parameters.values {
                expect(value.utf8.count <= field.utf8.count, "a value that was not sent")
            }
        }
        let response = TransportResponse(
            HTTPResponse(status: .unauthorized, headerFields: [.wwwAuthenticate: field]), body: [])
        // RFC 6750 §3.1, and RFC 9449 §7.1 for a token that is bound to a key.
        let isDead = challenges.contains {
            ["bearer", "dpop", ""].contains($0.scheme) && $0.parameters["error"] == "invalid_token"
        }
        // HTTPTypes removes characters that HTTP does not allow, and all beyond Latin-1.
        if HTTPField.isValidValue(field), field.utf8.allSatisfy({ $0 < 0x80 }) {
            expect(response.saysInvalidToken == isDead, "dead and alive")
        }
        do {
            let url = try SecureURL("https://op.example/token")
            let error = response.oauthError(from: url, stage: .resource, hiding: [])
            expect(error.message.isOneLine && error.message.unicodeScalars.count <= 4000, "an error of several lines")
        } catch { fatalError("\(error)") }
    }
}
