import AppAuthProtocol
import JOSE
import AppAuthTestProvider
import Testing

/// FAPI 2.0 Message Signing: a signed response (JARM) is verified as an ID token is, before the code is sent.
@Suite(.timeLimit(.minutes(1)))
struct MessageSigningTests {
    private static let signed: [Plan] = [.messageSigningJARM]

    @Test("fapi2-security-profile-final-client-test-ensure-jarm-without-iss-fails", arguments: signed)
    func noIssuer(plan: Plan) async throws {
        try await refuses(plan, "invalid signed response: expected 'iss' to be") { $0.claims["iss"] = nil }
    }

    @Test("fapi2-security-profile-final-client-test-ensure-jarm-with-invalid-iss-fails", arguments: signed)
    func otherIssuer(plan: Plan) async throws {
        try await refuses(plan, "invalid signed response: expected 'iss' to be") {
            $0.claims["iss"] = "https://other.example"
        }
    }

    @Test("fapi2-security-profile-final-client-test-ensure-jarm-without-aud-fails", arguments: signed)
    func noAudience(plan: Plan) async throws {
        try await refuses(plan, "expected 'aud' to be a string or an array of strings, found none") {
            $0.claims["aud"] = nil
        }
    }

    @Test("fapi2-security-profile-final-client-test-ensure-jarm-with-invalid-aud-fails", arguments: signed)
    func otherAudience(plan: Plan) async throws {
        try await refuses(plan, "invalid signed response: expected 'aud' to contain 'conformance'") {
            $0.claims["aud"] = "other"
        }
    }

    @Test("fapi2-security-profile-final-client-test-ensure-jarm-without-exp-fails", arguments: signed)
    func noExpiration(plan: Plan) async throws {
        try await refuses(plan, "invalid signed response: expected 'exp', found none") {
            $0.claims["exp"] = nil
        }
    }

    @Test("fapi2-security-profile-final-client-test-ensure-jarm-with-expired-exp-fails", arguments: signed)
    func expired(plan: Plan) async throws {
        try await refuses(plan, "invalid signed response: it expired") {
            $0.claims["exp"] = .seconds(fromNow: -330)
        }
    }

    @Test("fapi2-security-profile-final-client-test-ensure-jarm-with-invalid-sig-fails", arguments: signed)
    func invalidSignature(plan: Plan) async throws {
        try await refuses(plan, "expected a signature by the provider’s key, found another") {
            $0.signature = .damaged(.ps256)
        }
    }

    @Test("fapi2-security-profile-final-client-test-ensure-jarm-signature-is-not-none", arguments: signed)
    func unsigned(plan: Plan) async throws {
        try await refuses(plan, "expected an algorithm of 'PS256', found 'none'") { $0.signature = .none }
    }

    private func refuses(
        _ plan: Plan, _ message: String, sourceLocation: SourceLocation = #_sourceLocation,
        _ edit: @escaping @Sendable (inout JWTDraft) -> Void
    ) async throws {
        try await plan.refuses(.invalidRedirect, message, after: [], sourceLocation: sourceLocation) {
            $0.fault(signedResponse: edit)
        }
    }
}
