internal import HTTPTypes
internal import JOSE

/// The endpoint `GET /exec.bank/api/v1/Accounts` with a bearer token, for one authenticated call. The path, and the
/// members with amounts in øre, are the double's choice.
struct SbankenAccounts: Sendable {
    let tokens: SbankenTokens

    func respond(to request: Request) -> Reply {
        guard request.method == .get else { return .notAllowed("GET") }
        let fields = request.headers[values: .authorization]
        guard fields.count == 1, let field = fields.first, field.hasPrefix("Bearer ") else {
            return Self.refusal("Bearer")
        }
        guard tokens.isAlive(String(field.dropFirst("Bearer ".count))) else {
            return Self.refusal(#"Bearer error="invalid_token""#)
        }
        return Reply.json([
            "availableItems": 2, "isError": false,
            "items": [
                ["accountId": "A1", "name": "Lønnskonto", "accountType": "Standard account", "available": 120450],
                [
                    "accountId": "A2", "name": "Sparekonto", "accountType": "High interest account",
                    "available": 8000000,
                ],
            ],
        ]).notStored
    }

    /// A challenge (RFC 6750 §3), with an error if a token was sent.
    private static func refusal(_ challenge: String) -> Reply {
        Reply(.unauthorized, [.wwwAuthenticate: challenge])
    }
}
