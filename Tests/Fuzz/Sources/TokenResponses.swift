internal import AppAuth
internal import AppAuthProtocol
internal import AppAuthSession
internal import HTTPTypes
internal import JOSE

/// The invariants of a response of the token endpoint (RFC 6749 §5).
enum TokenResponses {
    private static let received = Timestamp.current
    /// Without a character that a message has in place of another, such as a blank: only a repeated secret is one.
    private static let secret = "a-secret+of=the~request"

    @Sendable static func check(_ input: [UInt8]) {
        do {
            let tokens = try TokenResponse(response(input, .ok), received: received, stage: .token)
            expect(tokens.tokenType == .bearer, "another type")
            for token in [tokens.accessToken, tokens.refreshToken, tokens.idToken].compactMap(\.self) {
                let text = token.reveal()
                expect(!text.isEmpty && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }, "a token for no header")
            }
            if let lifetime = tokens.lifetime { expect(lifetime >= .zero, "a token from the past") }
            _ = tokens.token.authorization
        } catch let error as AuthError {
            check(error)
        } catch { fatalError("another error: \(error)") }
        do {
            let url = try SecureURL("https://op.example/token")
            check(response(input, .badRequest).oauthError(from: url, stage: .token, hiding: [Secret(secret)]))
        } catch { fatalError("\(error)") }
    }

    private static func check(_ error: AuthError) {
        expect(error.message.isOneLine && error.message.unicodeScalars.count <= 4000, "an error of several lines")
        expect(!error.message.contains(secret), "a secret in an error")
        expect(!error.code.rawValue.isEmpty && error.code.rawValue.isOneLine, "a code of several lines")
        expect(error.code != .signInRequired, "a code that means something else here")
    }

    private static func response(_ body: [UInt8], _ status: HTTPResponse.Status) -> TransportResponse {
        TransportResponse(HTTPResponse(status: status, headerFields: [.contentType: "application/json"]), body: body)
    }
}
