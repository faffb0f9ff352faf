import Foundation
import JOSE
import Testing

/// Keys and contexts of libcrypto are freed. The address sanitizer runs here without its leak detection, since Swift's
/// runtime keeps the metadata of its types.
@Suite(.serialized) struct MemoryEnduranceTests {
    /// The private part of the process's resident memory, in KiB (proc(5)).
    private static func memory() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") })
        return try #require(line.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }.first)
    }

    /// The growth of the process by a piece of work, in KiB. The first repetitions, which fill caches, do not count.
    private static func growth(_ count: Int, _ work: () throws -> Void) throws -> Int {
        for _ in 0..<count / 20 { try work() }
        let before = try memory()
        for _ in 0..<count { try work() }
        return try memory() - before
    }

    private static let limit = 8 << 10

    @Test func `a verification keeps no memory`() throws {
        let signer = try SigningKey.generate(.rs256)
        let key = try VerificationKey(signer.publicKey)
        let signature = try signer.sign([1])
        let growth = try Self.growth(40_000) {
            guard key.verifies(signature, of: [1], algorithm: .rs256) else { throw JOSEError("expected a signature") }
        }
        #expect(growth < Self.limit)
    }

    @Test func `a key that is gone keeps no memory`() throws {
        let signer = try SigningKey.generate(.rs256)
        let signature = try signer.sign([1])
        let growth = try Self.growth(20_000) {
            let key = try VerificationKey(signer.publicKey)
            guard key.verifies(signature, of: [1], algorithm: .rs256) else { throw JOSEError("expected a signature") }
        }
        #expect(growth < Self.limit)
    }

    @Test func `a decryption keeps no memory`() throws {
        let key = try JWETests.key("X25519")
        let jwe = try JWE(compact: JWE.encrypt([1], to: key.publicKey, .ecdhES, .a128GCM))
        let growth = try Self.growth(60_000) {
            guard try jwe.decrypted(by: key) == [1] else { throw JOSEError("expected the content") }
        }
        #expect(growth < Self.limit)
    }

    @Test func `a secret that is gone keeps no memory`() throws {
        let text = String(repeating: "s", count: 4096)
        #expect(try Self.growth(20_000) { _ = SecretBytes(text) } < Self.limit)
    }
}
