/// A JSON Web Encryption in compact form (RFC 7516 §3.1), parsed but not yet decrypted.
package struct JWE: Sendable {
    package let header: Header
    let encryptedKey: [UInt8]
    private let iv: [UInt8]
    private let ciphertext: [UInt8]
    private let tag: [UInt8]
    /// The encoded header, which the tag protects together with the content (§5.1 step 14).
    private let additionalData: [UInt8]

    /// The relevant members of a header. The key members `jku`, `jwk`, `x5u` and `x5c` are never read.
    package struct Header: Sendable, Hashable {
        package let alg: KeyManagementAlgorithm
        package let enc: ContentEncryption
        package let kid: String?
        package let typ: String?
        package let cty: String?
        /// The sender's ephemeral key, and the header's information about the two parties (RFC 7518 §4.6.1).
        let epk: JWK?
        let apu: [UInt8]
        let apv: [UInt8]
    }

    /// Enough for a signed token of 64 KiB, a third longer in base64url, with the header and the encrypted key.
    package static let maximumCount = 128 * 1024

    /// Returns whether a text has the form of an encrypted token: five parts (§9).
    package static func hasForm(_ text: String) -> Bool { text.utf8.count { $0 == UInt8(ascii: ".") } == 4 }

    /// Parses a token.
    ///
    /// - Throws: ``JOSEError`` for anything but five parts in base64url with an object as the header, for more than 128
    ///   KiB, for unknown algorithms, for an initialization vector or a tag of the wrong length, and for a header with
    ///   `crit` or `zip`: the length of compressed content reveals information about it (RFC 8725 §3.6).
    package init(compact text: String) throws(JOSEError) {
        guard text.utf8.count <= Self.maximumCount else {
            throw JOSEError("expected a token of at most \(Self.maximumCount) bytes, found \(text.utf8.count)")
        }
        let encoded = text.utf8.split(separator: UInt8(ascii: "."), maxSplits: 5, omittingEmptySubsequences: false)
        let parts = encoded.compactMap { Base64URL.decode(String(Substring($0))) }
        guard encoded.count == 5, parts.count == 5 else {
            let found = encoded.count == 5 ? "other characters" : "\(encoded.count) parts"
            throw JOSEError("expected an encrypted token: five parts in base64url without padding, found \(found)")
        }
        header = try Header(JOSEHeader(parts[0]))
        (encryptedKey, iv, ciphertext, tag) = (parts[1], parts[2], parts[3], parts[4])
        additionalData = Array(encoded[0])
        let enc = header.enc
        guard iv.count == enc.ivByteCount, tag.count == enc.tagByteCount else {
            throw JOSEError(
                "expected an initialization vector of \(enc.ivByteCount) bytes and a tag of \(enc.tagByteCount), "
                    + "found \(iv.count) and \(tag.count)")
        }
    }

    /// Decrypts the content.
    ///
    /// - Throws: ``JOSEError``: one error for a key of another kind, and one for everything else. The sender of a
    ///   forged token learns nothing from it, nor from the time it takes: if the key cannot be decrypted, a random one
    ///   replaces it (RFC 7516 §11.5).
    package func decrypted(by key: RecipientKey) throws -> [UInt8] {
        guard key.publicKey.fits(header.alg) else {
            throw JOSEError("expected an algorithm that the key is meant for, found \(header.alg.rawValue)")
        }
        var contentKey = try randomBytes(header.enc.keyByteCount)
        defer { wipe(&contentKey) }
        if let found = key.contentKey(of: self), found.count == contentKey.count { contentKey = found }
        guard let content = header.enc.open(ciphertext, tag: tag, key: contentKey, iv: iv, aad: additionalData) else {
            throw JOSEError("the token is not encrypted to this key, or was changed")
        }
        return content
    }
}

extension JWE.Header {
    fileprivate init(_ header: JOSEHeader) throws(JOSEError) {
        guard let alg = KeyManagementAlgorithm(exactly: header.alg) else {
            throw JOSEError("expected a supported algorithm, found \(header.alg.foundText)")
        }
        let name = try header.text("enc")
        guard let enc = name.flatMap(ContentEncryption.init(exactly:)) else {
            throw JOSEError("expected a supported 'enc', found \((name ?? "none").foundText)")
        }
        guard header.members["zip"] == nil else { throw JOSEError("the token’s content is compressed") }
        func party(_ name: String) throws(JOSEError) -> [UInt8] {
            guard let text = try header.text(name) else { return [] }
            guard let bytes = Base64URL.decode(text) else {
                throw JOSEError("expected the header’s \(name.foundText) in base64url, found other characters")
            }
            return bytes
        }
        (self.alg, self.enc) = (alg, enc)
        (kid, typ, cty) = (try header.text("kid"), try header.text("typ"), try header.text("cty"))
        (apu, apv) = (try party("apu"), try party("apv"))
        switch alg.family {
        case .rsaOAEP: epk = nil
        case .ecdhES:
            guard let json = header.members["epk"] else { throw JOSEError("expected a header with 'epk', found none") }
            epk = try JWK(json)
        }
    }
}
