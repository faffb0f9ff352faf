internal import JOSE

/// A provider's public keys: its JSON Web Key Set (RFC 7517 §5).
///
/// Keys that cannot verify a signature here are skipped: unknown types, private keys, RSA below 2048 or above 8192
/// bits, points that are not on their curve.
public struct KeySet: Sendable {
    package let jwks: JWKSet

    /// Parses a key set.
    ///
    /// - Parameter document: The JWK Set in UTF-8.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidResponse`` if the document is not a key set.
    public init(document: [UInt8]) throws {
        do { try self.init(JSON(parsing: document)) } catch let error as JSON.ParseError {
            throw AuthError(.invalidResponse, .keys, error.description)
        }
    }

    package init(_ json: JSON) throws {
        do { jwks = try JWKSet(json) } catch { throw AuthError(.invalidResponse, .keys, "\(error)") }
    }
}
