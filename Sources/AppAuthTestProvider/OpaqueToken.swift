internal import JOSE

/// Random text of 256 bits: codes, tokens, ids and cookies.
enum OpaqueToken {
    static func make() throws -> String { Base64URL.encode(try randomBytes(32)) }
}
