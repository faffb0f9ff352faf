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

    deinit {
        OPENSSL_cleanse(storage.baseAddress, storage.count)
        storage.deallocate()
    }

    package var bytes: [UInt8] { Array(storage) }
    package var text: String { String(decoding: storage, as: UTF8.self) }

    package static func == (left: SecretBytes, right: SecretBytes) -> Bool {
        left.storage.count == right.storage.count
            && CRYPTO_memcmp(left.storage.baseAddress, right.storage.baseAddress, left.storage.count) == 0
    }
}

/// Wipes a key that is no longer needed. Copies elsewhere remain.
func wipe(_ bytes: inout [UInt8]) { bytes.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
