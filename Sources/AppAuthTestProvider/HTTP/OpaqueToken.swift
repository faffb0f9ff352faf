internal import JOSE

/// A random string of 256 bits, for codes, tokens, ids and cookies.
enum OpaqueToken {
    static func make() throws -> String { Base64URL.encode(try randomBytes(32)) }
}
