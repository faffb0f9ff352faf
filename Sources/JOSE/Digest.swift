internal import CLibcrypto
internal import CShims

/// SHA-2 and HMAC from libcrypto.
package enum Digest: Int, Sendable, Hashable {
    case sha256 = 256
    case sha384 = 384
    case sha512 = 512

    package var byteCount: Int { rawValue / 8 }

    var evp: OpaquePointer? { shims_sha2(Int32(rawValue)) }

    package func hash(_ bytes: [UInt8]) -> [UInt8] { bytes.withUnsafeBytes { hash($0) } }

    package func hash(_ text: String) -> [UInt8] { text.withBytes { hash(UnsafeRawBufferPointer($0)) } }

    func hash(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: byteCount) { out, count in
            let done = EVP_Digest(bytes.baseAddress, bytes.count, out.baseAddress, nil, evp, nil)
            precondition(done == 1, "libcrypto always has SHA-2")
            count = byteCount
        }
    }

    package func hmac(key: [UInt8], _ message: UnsafeRawBufferPointer) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: byteCount) { out, count in
            let bytes = message.bindMemory(to: UInt8.self)
            let done = HMAC(evp, key, Int32(key.count), bytes.baseAddress, bytes.count, out.baseAddress, nil)
            precondition(done != nil, "libcrypto always has HMAC")
            count = byteCount
        }
    }

    package func hmac(key: [UInt8], _ message: [UInt8]) -> [UInt8] {
        message.withUnsafeBytes { hmac(key: key, $0) }
    }
}

/// Returns whether two values are equal, in a time that depends only on their lengths.
package func constantTimeEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
}

/// Returns whether two texts are equal byte for byte, in a time that depends only on their lengths.
package func constantTimeEqual(_ left: String, _ right: String) -> Bool {
    left.withBytes { left in
        right.withBytes { right in
            left.count == right.count && CRYPTO_memcmp(left.baseAddress, right.baseAddress, left.count) == 0
        }
    }
}

/// Returns random bytes from libcrypto's generator.
///
/// - Throws: ``JOSEError`` if the system cannot provide them; there is no fallback.
package func randomBytes(_ count: Int) throws -> [UInt8] {
    try [UInt8](unsafeUninitializedCapacity: count) { out, written in
        try fillWithRandomBytes(UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(out)[..<count]))
        written = count
    }
}

/// Does the same for a buffer of the caller's.
func fillWithRandomBytes(_ buffer: UnsafeMutableRawBufferPointer) throws {
    guard RAND_bytes(buffer.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(buffer.count)) == 1 else {
        ERR_clear_error()
        throw JOSEError("libcrypto could not give random bytes")
    }
}
