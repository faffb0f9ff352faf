import Foundation
import Testing

import JOSE

/// One published or own vector: a file of `Vectors` with its source beside it.
struct Vector: CustomTestStringConvertible {
    let json: JSON

    init(_ name: String) throws {
        let url = try #require(Bundle.module.url(forResource: name, withExtension: "json", subdirectory: "Vectors"))
        json = try JSON(parsing: Array(try Data(contentsOf: url)))
    }

    var testDescription: String { json["source"]?.string ?? "a vector" }

    func text(_ name: String) throws -> String { try #require(json[name]?.string) }

    func bytes(_ name: String) throws -> [UInt8] { try #require(Base64URL.decode(try text(name))) }

    func jwk() throws -> JWK { try JWK(try #require(json["jwk"])) }

    func key() throws -> VerificationKey { try VerificationKey(try jwk()) }

    func jws() throws -> JWS { try JWS(compact: try text("token")) }

    func algorithm() throws -> SignatureAlgorithm {
        try #require(SignatureAlgorithm(rawValue: try text("algorithm")))
    }

    /// A member of the private key that the vector signs with.
    func privateBytes(_ name: String) throws -> [UInt8] {
        try #require(json["private"]?[name]?.string.flatMap(Base64URL.decode))
    }

    /// Tokens with a public key.
    static let signed = [
        "rfc7515-a2", "rfc7515-a3", "rfc7515-a4", "rfc7520-4.1", "rfc7520-4.2", "rfc7520-4.3", "rfc8037-a",
    ]
    /// Tokens with a shared secret.
    static let authenticated = ["rfc7515-a1", "rfc7520-4.4"]
}
