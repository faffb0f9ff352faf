package import JOSE

/// Returns a part of a JWT: 0 is the header, 1 the claims.
package func jwtPart(_ index: Int, _ token: String) throws -> JSON {
    let parts = token.split(separator: ".")
    guard parts.count == 3, let bytes = Base64URL.decode(String(parts[index])) else { throw NotAJWT() }
    return try JSON(parsing: bytes)
}

private struct NotAJWT: Error {}
