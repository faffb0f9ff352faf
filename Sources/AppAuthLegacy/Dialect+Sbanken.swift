internal import FoundationEssentials
internal import HTTPTypes
internal import JOSE

extension Dialect {
    /// The dialect of S'banken (`https://auth.sbanken.no/identityserver/connect/token`).
    ///
    /// HTTP Basic authentication has id and secret percent-encoded, where RFC 6749 §2.3.1 has them form-encoded. A
    /// space is `%20` and not `+`, and `!~'()` are not encoded.
    ///
    /// ```swift
    /// environment.dialect = .sbanken
    /// let state = try await AuthState.restoreOrPresent(
    ///     .clientCredentials(), as: client, store: MemoryTokenStore(), environment: environment)
    /// ```
    public static let sbanken: Dialect = {
        var dialect = Dialect()
        dialect.tokenRequest = { form, fields, client in
            guard let secret = client.authentication.secret else { return }
            for name in ["client_id", "client_secret"] { form.remove(name) }
            let pair = percentEncoded(client.id) + ":" + percentEncoded(secret.reveal())
            fields[.authorization] = "Basic " + Data(pair.utf8).base64EncodedString()
        }
        return dialect
    }()

    /// Percent-encodes every byte of the UTF-8 except letters, digits and `-_.!~*'()`.
    private static func percentEncoded(_ text: String) -> String {
        text.percentEncoded { $0.isASCIIAlphanumeric || "-_.!~*'()".utf8.contains($0) }
    }
}
