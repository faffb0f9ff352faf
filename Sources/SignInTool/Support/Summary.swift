internal import AppAuth
internal import FoundationEssentials

extension AuthStateRecord {
    /// The result of a sign-in, as the contract has it.
    var summary: JSON.Object {
        [
            "issuer": .string(client.provider.issuer.string),
            "client_id": .string(client.id),
            "id_token_claims": idToken?.claims.json ?? .null,
            "access_token_expires_at": expiry,
            "scope": .string(scope.spaceDelimited ?? ""),
            "token_type": .string(accessToken?.type.rawValue ?? ""),
            "has_refresh_token": .bool(refreshToken != nil),
        ]
    }

    /// When the access token expires, as RFC 3339 has it; null if that is not known.
    var expiry: JSON { accessToken?.expiresAt.map { .string($0.ISO8601Format()) } ?? .null }

    /// Who is signed in, for a person.
    var person: String {
        guard let claims = idToken?.claims else { return "somebody (no ID token was asked for)" }
        let name = claims.name ?? claims.preferredUsername ?? claims.email
        return name.map { "\($0) (\(claims.subject ?? ""))" } ?? claims.subject ?? ""
    }
}

extension JSON {
    /// The members of an object, a line each, for a person.
    var lines: [String] {
        (object?.members ?? []).map { member in
            "\(member.name): \(member.value.string ?? member.value.serialized())".onOneLine
        }
    }
}
