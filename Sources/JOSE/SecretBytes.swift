internal import CLibcrypto

/// Bytes in memory of their own, which is wiped before it is freed.
package final class SecretBytes: Sendable {
    nonisolated(unsafe) private let storage: UnsafeMutableRawBufferPointer  // written only in init

    package init(_ text: String) {
        storage = text.withBytes { utf8 in
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: utf8.count, alignment: 1)
            copy.copyMemory(from: UnsafeRawBufferPointer(utf8))
            return copy
        }
    }

    /// Creates the base64url of some bytes.
    init(encoding bytes: UnsafeRawBufferPointer) {
        storage = .allocate(byteCount: Base64URL.length(bytes.count), alignment: 1)
        Base64URL.encode(bytes, into: storage)
    }

    deinit {
        OPENSSL_cleanse(storage.baseAddress, storage.count)
        storage.deallocate()
    }

    package var bytes: [UInt8] { Array(storage) }
    package var text: String { String(decoding: storage, as: UTF8.self) }

    /// The SHA-256 of the text in base64url.
    package var fingerprint: String { Base64URL.encode(Digest.sha256.hash(UnsafeRawBufferPointer(storage))) }

    package static func == (left: SecretBytes, right: SecretBytes) -> Bool {
        left.storage.count == right.storage.count
            && CRYPTO_memcmp(left.storage.baseAddress, right.storage.baseAddress, left.storage.count) == 0
    }
}

extension SecretBytes {
    /// Creates texts, each of so many random bytes in base64url.
    ///
    /// All bytes come from one call of libcrypto's generator, which takes hardly longer for three texts than for one.
    ///
    /// - Throws: ``JOSEError`` if the system cannot provide them; there is no fallback.
    package static func random(_ count: Int, bytes size: Int) throws -> [SecretBytes] {
        try withUnsafeTemporaryAllocation(byteCount: count * size, alignment: 1) { bytes in
            defer { OPENSSL_cleanse(bytes.baseAddress, bytes.count) }
            try fillWithRandomBytes(bytes)
            return (0..<count).map { index in
                SecretBytes(encoding: UnsafeRawBufferPointer(rebasing: bytes[index * size..<(index + 1) * size]))
            }
        }
    }
}

/// Wipes a key that is no longer needed. Copies elsewhere remain.
func wipe(_ bytes: inout [UInt8]) { bytes.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
