internal import CLibcrypto

/// scrypt (RFC 7914) with fixed costs: 32 MiB of memory and three rounds, which take about 0.2 s.
package enum Scrypt {
    /// Derives a key from a passphrase.
    ///
    /// - Throws: ``JOSEError`` if libcrypto fails, for example without the memory.
    package static func derive(_ count: Int, from passphrase: [UInt8], salt: [UInt8]) throws(JOSEError) -> [UInt8] {
        var key = [UInt8](repeating: 0, count: count)
        let isDerived = passphrase.withUnsafeBytes { passphrase in
            let text = passphrase.bindMemory(to: CChar.self)
            return EVP_PBE_scrypt(text.baseAddress, text.count, salt, salt.count, 1 << 15, 8, 3, 64 << 20, &key, count)
        }
        guard isDerived == 1 else { throw JOSEError("libcrypto could not derive a key from the passphrase") }
        return key
    }
}
