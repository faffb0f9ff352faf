internal import FoundationEssentials
internal import HTTPTypes
internal import JOSE

/// The endpoint `POST /identityserver/connect/token`. It compares body and header fields with the expected ones, byte
/// by byte.
///
/// Errors are only codes of RFC 6749 §5.2 with status 400, even `invalid_client`, as from IdentityServer.
struct SbankenTokenEndpoint: Sendable {
    let configuration: Sbanken.Configuration
    let tokens: SbankenTokens

    func respond(to request: Request) throws -> Reply {
        guard request.method == .post else { return .notAllowed("POST") }
        guard request.headers[values: .accept] == ["application/json"], request.isForm, request.query.entries.isEmpty
        else { return Self.refusal("invalid_request") }
        let fields = request.headers[values: .authorization]
        guard fields.count == 1, constantTimeEqual(fields[0], expectedAuthorization) else {
            return Self.refusal("invalid_client")
        }
        guard request.body == Array("grant_type=client_credentials".utf8) else {
            let isOther = request.form.map { $0["grant_type"] != "client_credentials" } ?? false
            return Self.refusal(isOther ? "unsupported_grant_type" : "invalid_request")
        }
        return Reply.json([
            "access_token": .string(try tokens.issue()), "expires_in": .number(.init(tokens.lifetime)),
            "token_type": "Bearer",
        ]).notStored
    }

    private static func refusal(_ code: String) -> Reply {
        Reply.json(["error": .string(code)], .badRequest).notStored
    }

    /// The field `Basic base64(encode(id) ":" encode(secret))`.
    var expectedAuthorization: String {
        let parts = [configuration.clientID, configuration.clientSecret].map(Self.encode)
        return "Basic " + Data(parts.joined(separator: ":").utf8).base64EncodedString()
    }

    /// Percent-encodes UTF-8 except `A–Z a–z 0–9 - _ . ! ~ * ' ( )`. RFC 6749 §2.3.1 requires form encoding, where a
    /// space is `+` and `!~'()` are encoded.
    static func encode(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if unchanged.contains(byte) {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let unchanged = Set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.!~*'()".utf8)
}
