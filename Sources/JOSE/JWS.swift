/// A JSON Web Signature in compact form (RFC 7515 §3.1), parsed but not yet verified.
package struct JWS: Sendable {
    package let header: Header
    package let payload: [UInt8]
    package let signature: [UInt8]
    /// The whole token, and the number of its bytes that are signed: header, dot and payload (RFC 7515 §5.2).
    private let token: String
    private let signedCount: Int

    /// The relevant members of a header. The key members `jku`, `jwk`, `x5u` and `x5c` are never read (RFC 8725 §3.10).
    package struct Header: Sendable, Hashable {
        package let alg: String
        package let kid: String?
        package let typ: String?
    }

    package static let maximumCount = 64 * 1024

    /// Parses a token.
    ///
    /// - Throws: ``JOSEError`` for anything but three parts in base64url with an object as the header, for more than 64
    ///   KiB, and for a header with `crit`, because no extension is known here (RFC 7515 §4.1.11).
    package init(compact text: String) throws(JOSEError) {
        guard text.utf8.count <= Self.maximumCount else {
            throw JOSEError("expected a token of at most \(Self.maximumCount) bytes, found \(text.utf8.count)")
        }
        let dot = UInt8(ascii: ".")
        let (parts, signedCount): ([[UInt8]?], Int) = text.withBytes { bytes in
            guard let first = bytes.firstIndex(of: dot), let last = bytes.lastIndex(of: dot), first < last else {
                return ([], 0)
            }
            // Any further dot is in the middle part, where it is invalid base64url.
            let ranges = [0..<first, (first + 1)..<last, (last + 1)..<bytes.count]
            return (ranges.map { Base64URL.decode(UnsafeBufferPointer(rebasing: bytes[$0])) }, last)
        }
        guard parts.count == 3, let header = parts[0], let payload = parts[1], let signature = parts[2] else {
            let count = text.utf8.count { $0 == dot } + 1
            let found = count == 3 ? "other characters" : "\(count) parts"
            throw JOSEError("expected a signed token: three parts in base64url without padding, found \(found)")
        }
        let members = try JOSEHeader(header)
        self.header = Header(alg: members.alg, kid: try members.text("kid"), typ: try members.text("typ"))
        (self.payload, self.signature) = (payload, signature)
        (token, self.signedCount) = (text, signedCount)
    }

    /// The claims (RFC 7519 §7.2 step 10): the payload, which must be a strict JSON object.
    package var claims: JSON.Object {
        get throws(JOSEError) {
            let json: JSON
            do { json = try JSON(parsing: payload) } catch { throw JOSEError("the payload is \(error)") }
            guard let claims = json.object else {
                throw JOSEError("expected the payload to be a JSON object, found \(json.kind)")
            }
            return claims
        }
    }

    package func isSigned(by key: VerificationKey, algorithm: SignatureAlgorithm) -> Bool {
        header.alg == algorithm.rawValue
            && withSignedBytes { key.verifies(signature, of: $0, algorithm: algorithm) }
    }

    /// Returns whether the secret signed the token. A secret that ``MACAlgorithm/check(secret:)`` rejects never does.
    package func isSigned(bySecret secret: [UInt8], algorithm: MACAlgorithm) -> Bool {
        header.alg == algorithm.rawValue && secret.count >= algorithm.digest.byteCount
            && constantTimeEqual(signature, withSignedBytes { algorithm.digest.hmac(key: secret, $0) })
    }

    private func withSignedBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        token.withBytes { body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer($0)[..<signedCount])) }
    }
}

extension JWS {
    /// Signs a payload in compact form. The key determines `alg`; the caller sets the rest of the header.
    package static func sign(
        _ payload: JSON, header: JSON.Object = [:], with key: SigningKey
    ) throws(JOSEError) -> String {
        let input = signingInput(payload, header, key.algorithm.rawValue)
        return input + "." + Base64URL.encode(try key.sign(Array(input.utf8)))
    }

    /// Signs a payload with a shared secret in compact form.
    ///
    /// - Throws: As ``MACAlgorithm/check(secret:)``.
    package static func sign(
        _ payload: JSON, header: JSON.Object = [:], secret: [UInt8], algorithm: MACAlgorithm
    ) throws(JOSEError) -> String {
        try algorithm.check(secret: secret)
        let input = signingInput(payload, header, algorithm.rawValue)
        return input + "." + Base64URL.encode(algorithm.digest.hmac(key: secret, Array(input.utf8)))
    }

    private static func signingInput(_ payload: JSON, _ header: JSON.Object, _ alg: String) -> String {
        var header = header
        header["alg"] = .string(alg)
        return [JSON.object(header), payload].map { Base64URL.encode(Array($0.serialized().utf8)) }
            .joined(separator: ".")
    }
}
