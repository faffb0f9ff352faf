internal import AppAuth
internal import FoundationEssentials
internal import JOSE

extension AuthStateRecord {
    /// The JSON result of a sign-in.
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

    /// The expiry of the access token in the format of RFC 3339; null if it is unknown.
    var expiry: JSON { accessToken?.expiresAt.map { .string($0.ISO8601Format()) } ?? .null }

    /// The state of the session, for display. An expired access token that cannot be refreshed is useless.
    var stateDescription: String {
        guard end == nil else { return "ended" }
        if needsSignIn { return "needs sign-in" }
        return isUsable(at: .current) ? "signed in" : "expired"
    }

    /// The state of the session in JSON. In `needs_sign_in`, the provider refuses each refresh, but may change its mind.
    var state: String {
        guard end == nil else { return "ended" }
        return needsSignIn ? "needs_sign_in" : "signed_in"
    }

    /// Why the user has to sign in again, if so.
    var reasonToSignIn: String? { end?.reason ?? (needsSignIn ? backoff?.reason : nil) }
}

extension JSON {
    /// The members of an object, one per line, for display. On a terminal, which would break a line anyway, each further one
    /// has a mark: a name or a value must not look like a line of this command, for example `Sign in with: …`.
    var lines: [String] {
        (object?.members ?? []).flatMap { member in
            // Lines of this command begin with a capital letter.
            let isPlain = member.name.wholeMatch(of: /[a-z0-9_][A-Za-z0-9_.:\/#]*/) != nil
            let name = isPlain ? member.name : member.name.foundText
            // As a word or a URL, or as a string of JSON: of these, no shell runs a part if the line is pasted.
            let plain = member.value.string.flatMap { text in
                text.shownName == text || text.wholeMatch(of: /[A-Za-z0-9._~:\/?#@+,=%-]+/) != nil ? text : nil
            }
            let value = (plain ?? member.value.serialized()).withSingleBlanks
            let isWrapped = Console.width(of: .output) != nil && value != "" && value != " "
            let line = "\(name): \(value)"
            return isWrapped ? line.onOneLine.wrapped(after: "", then: "  | ") : [line]
        }
    }
}

extension Claims {
    /// A short name of the user, for lists.
    var shortName: String? { preferredUsername ?? email ?? name ?? subject }
}
