internal import CLibcrypto
internal import CShims

/// The private members of a JWK, for conversion into a libcrypto key.
struct PrivateJWK {
    let publicKey: JWK
    private let members: JSON.Object

    init(_ json: JSON) throws(JOSEError) {
        guard let members = json.object else { throw JOSEError("expected a JWK, found no object") }
        guard members["oth"] == nil else { throw Self.moreThanTwoPrimes }
        var open = members
        for name in ["d", "p", "q", "dp", "dq", "qi", "priv"] { open[name] = nil }
        publicKey = try JWK(.object(open))
        self.members = members
    }

    /// Returns the libcrypto key; nil if libcrypto rejects it.
    func libcryptoKey() throws(JOSEError) -> OpaquePointer? {
        switch publicKey.material {
        case .rsa(let n, let e):
            var numbers = [n, e]
            for name in ["d", "p", "q", "dp", "dq", "qi"] { numbers.append(try secret(name)) }
            // One block of memory, because C needs pointers that stay valid.
            let lengths = numbers.map(\.count)
            let block = numbers.flatMap(\.self)
            return block.withUnsafeBufferPointer { block in
                var offset = 0
                let pointers = lengths.map { length in
                    defer { offset += length }
                    return block.baseAddress.map { $0 + offset }
                }
                return shims_rsa_private(pointers, lengths)
            }
        case .ec(let curve, let x, let y):
            // RFC 7518 §6.2.2.1: the length is that of the curve's order.
            let d = try secret("d", byteCount: curve.byteCount)
            let point = [0x04] + x + y
            return shims_ec_private(curve.rawValue, point, point.count, d, d.count)
        case .ed25519(let x): return try rawKey(EVP_PKEY_ED25519, of: x)
        case .x25519(let x): return try rawKey(EVP_PKEY_X25519, of: x)
        case .mlDSA(let parameters, let pub):
            try parameters.checkIsAvailable()
            let seed = try secret("priv", byteCount: MLDSA.seedByteCount)
            return shims_ml_dsa_private(parameters.rawValue, seed, seed.count).ifPublicKey(is: pub)
        }
    }

    static let moreThanTwoPrimes = JOSEError("expected an RSA key of two primes, found one with more")

    private func rawKey(_ type: CInt, of x: [UInt8]) throws(JOSEError) -> OpaquePointer? {
        let d = try secret("d", byteCount: 32)
        return EVP_PKEY_new_raw_private_key(type, nil, d, d.count).ifPublicKey(is: x)
    }

    private func secret(_ name: String, byteCount: Int) throws(JOSEError) -> [UInt8] {
        let bytes = try secret(name)
        guard bytes.count == byteCount else {
            throw JOSEError("expected the JWK’s \(name.foundText) to have \(byteCount) bytes, found \(bytes.count)")
        }
        return bytes
    }

    private func secret(_ name: String) throws(JOSEError) -> [UInt8] {
        guard let bytes = members[name]?.string.flatMap(Base64URL.decode), !bytes.isEmpty else {
            let found = members[name]?.string == nil ? members[name].foundKind : "other characters"
            throw JOSEError("expected a private JWK with \(name.foundText) in base64url, found \(found)")
        }
        return bytes
    }
}

extension OpaquePointer? {
    /// The key; nil if its public part is another one. In that case, it is freed.
    fileprivate func ifPublicKey(is expected: [UInt8]) -> OpaquePointer? {
        guard let key = self else { return nil }
        var (found, length) = ([UInt8](repeating: 0, count: expected.count), expected.count)
        guard EVP_PKEY_get_raw_public_key(key, &found, &length) == 1, length == expected.count, found == expected else {
            EVP_PKEY_free(key)
            return nil
        }
        return key
    }
}
