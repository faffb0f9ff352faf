/// A public JSON Web Key (RFC 7517): RSA, EC on a NIST curve, Ed25519, X25519 or ML-DSA.
package struct JWK: Sendable, Hashable {
    package enum Material: Sendable, Hashable {
        /// Modulus and exponent, big endian (RFC 7518 §6.3.1).
        case rsa(n: [UInt8], e: [UInt8])
        /// A point in affine coordinates of the curve's length (RFC 7518 §6.2.1).
        case ec(Curve, x: [UInt8], y: [UInt8])
        /// An Ed25519 public key (RFC 8037 §2).
        case ed25519([UInt8])
        /// An X25519 public key (RFC 8037 §2), only for key agreement.
        case x25519([UInt8])
        /// A public key of ML-DSA (RFC 9964).
        case mlDSA(MLDSA, [UInt8])
    }

    package var material: Material
    package var kid: String?
    package var use: String?
    package var keyOps: [String]?
    package var alg: String?

    package init(_ material: Material, kid: String? = nil, use: String? = nil, alg: String? = nil) {
        (self.material, self.kid, self.use, self.alg) = (material, kid, use, alg)
    }

    /// Parses a key.
    ///
    /// - Throws: ``JOSEError`` for an unknown kind of key, for a member that is missing or malformed, and for a private
    ///   key: a published private key is compromised.
    package init(_ json: JSON) throws(JOSEError) {
        guard let object = json.object else { throw JOSEError("expected a JWK, found no object") }
        for name in ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"] where object[nonEmpty: name] != nil {
            throw JOSEError("expected a public key, found the private member \(name.foundText)")
        }
        material = try Self.material(of: object)
        kid = try Self.text("kid", in: object)
        use = try Self.text("use", in: object)
        alg = try Self.text("alg", in: object)
        if let operations = object["key_ops"] {
            guard let names = operations.strings else {
                let found = operations.array == nil ? operations.kind : "an array with other values"
                throw JOSEError("expected 'key_ops' to be an array of strings, found \(found)")
            }
            keyOps = names
        }
    }

    /// RFC 7518 §6.2.1.2: the length is that of the curve's coordinates, including leading zeros. Keycloak and others leave
    /// out the zeros, or add one: the number is the same.
    private static func coordinate(_ name: String, of curve: Curve, in object: JSON.Object) throws(JOSEError) -> [UInt8]
    {
        let found = try bytes(name, in: object)
        let number = found.drop { $0 == 0 }
        // Shorter ones are another curve's.
        guard (curve.byteCount - 2...curve.byteCount + 1).contains(found.count), number.count <= curve.byteCount else {
            throw JOSEError("expected coordinates of \(curve.byteCount) bytes, found \(found.count)")
        }
        return Array(repeating: 0, count: curve.byteCount - number.count) + number
    }

    private static func material(of object: JSON.Object) throws(JOSEError) -> Material {
        let (type, curve) = (try text("kty", in: object), try text("crv", in: object))
        // `==` of strings is not exact beyond ASCII (see `String.isExactly`), and no key type has other characters.
        guard let type, type.utf8.allSatisfy({ $0 < 0x80 }) else { throw JOSEError("the JWK’s type is not supported") }
        switch type {
        case "RSA": return .rsa(n: try bytes("n", in: object), e: try bytes("e", in: object))
        case "EC":
            guard let curve = curve.flatMap(Curve.init(exactly:)) else {
                throw JOSEError("the JWK’s curve is not supported")
            }
            return .ec(
                curve, x: try coordinate("x", of: curve, in: object), y: try coordinate("y", of: curve, in: object))
        case "OKP" where curve == "Ed25519" || curve == "X25519":
            let key = try bytes("x", in: object)
            guard key.count == 32 else { throw JOSEError("expected a key of 32 bytes, found \(key.count)") }
            return curve == "X25519" ? .x25519(key) : .ed25519(key)
        case "AKP":
            guard let parameters = try text("alg", in: object).flatMap(MLDSA.init(exactly:)) else {
                throw JOSEError("the JWK’s algorithm is not supported")
            }
            let key = try bytes("pub", in: object)
            guard key.count == parameters.publicKeyByteCount else {
                throw JOSEError("expected a key of \(parameters.publicKeyByteCount) bytes, found \(key.count)")
            }
            return .mlDSA(parameters, key)
        default: throw JOSEError("the JWK’s type is not supported")
        }
    }

    private static func text(_ name: String, in object: JSON.Object) throws(JOSEError) -> String? {
        guard let value = object[name] else { return nil }
        guard let text = value.exactString else {
            throw JOSEError("expected the JWK’s \(name.foundText) to be a string, found \(value.kind)")
        }
        return text
    }

    private static func bytes(_ name: String, in object: JSON.Object) throws(JOSEError) -> [UInt8] {
        let text = try text(name, in: object)
        // RFC 7515 §2: without padding, but some providers add it. It changes no key.
        let unpadded = text.map { String($0.reversed().drop { $0 == "=" }.reversed()) }
        guard let bytes = unpadded.flatMap(Base64URL.decode) else {
            throw JOSEError(
                "expected the JWK’s \(name.foundText) in base64url, found \(text == nil ? "none" : "other characters")")
        }
        return bytes
    }

    /// The members that make up the key, in the order of RFC 7638 §3.2.
    private var required: JSON {
        switch material {
        case .rsa(let n, let e):
            ["e": .string(Base64URL.encode(e)), "kty": "RSA", "n": .string(Base64URL.encode(n))]
        case .ec(let curve, let x, let y):
            [
                "crv": .string(curve.rawValue), "kty": "EC",
                "x": .string(Base64URL.encode(x)), "y": .string(Base64URL.encode(y)),
            ]
        case .ed25519(let x): ["crv": "Ed25519", "kty": "OKP", "x": .string(Base64URL.encode(x))]
        case .x25519(let x): ["crv": "X25519", "kty": "OKP", "x": .string(Base64URL.encode(x))]
        case .mlDSA(let parameters, let key):
            ["alg": .string(parameters.rawValue), "kty": "AKP", "pub": .string(Base64URL.encode(key))]
        }
    }

    package var json: JSON {
        guard case .object(var object) = required else { return required }
        object["kid"] = kid.map(JSON.string)
        object["use"] = use.map(JSON.string)
        if let alg { object["alg"] = .string(alg) }
        object["key_ops"] = keyOps.map { .array($0.map(JSON.string)) }
        return .object(object)
    }

    /// The SHA-256 thumbprint in base64url (RFC 7638).
    package var thumbprint: String { Base64URL.encode(Digest.sha256.hash(required.serialized())) }

    /// Returns whether this key may verify a signature with the algorithm: its type and curve fit, and its `use`,
    /// `key_ops` and `alg`, if present, agree (RFC 7517 §4.2 to §4.4, RFC 8725 §3.1).
    package func fits(_ algorithm: SignatureAlgorithm) -> Bool {
        if let use, use != "sig" { return false }
        if let keyOps, !keyOps.contains("verify") { return false }
        if let alg, !algorithm.isNamed(alg) { return false }
        return switch (algorithm.family, material) {
        case (.rsaPKCS1, .rsa), (.rsaPSS, .rsa), (.edDSA, .ed25519): true
        case (.ecdsa(let curve), .ec(let found, _, _)): curve == found
        case (.mlDSA(let parameters), .mlDSA(let found, _)): parameters == found
        default: false
        }
    }
}
