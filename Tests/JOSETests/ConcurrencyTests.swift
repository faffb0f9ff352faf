import JOSE
import Testing

@Suite struct ConcurrencyTests {
    private let tasks = 8

    @Test(arguments: [SignatureAlgorithm.rs256, .es256, .edDSA])
    func `one key verifies for many tasks at once`(algorithm: SignatureAlgorithm) async throws {
        let signer = try TestKeys.signing(algorithm)
        let key = try VerificationKey(signer.publicKey)
        let message = Array("a message".utf8)
        let good = try signer.sign(message)
        var bad = good
        bad[bad.count / 2] ^= 1
        let signatures = [good, bad]
        let right = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<tasks {
                group.addTask {
                    (0..<2000).count { turn in
                        key.verifies(signatures[turn % 2], of: message, algorithm: algorithm) == (turn % 2 == 0)
                    }
                }
            }
            return await group.reduce(0, +)
        }
        #expect(right == tasks * 2000)
    }

    @Test(arguments: [SignatureAlgorithm.rs256, .ps256, .es256, .edDSA])
    func `one key signs for many tasks at once`(algorithm: SignatureAlgorithm) async throws {
        let signer = try TestKeys.signing(algorithm)
        let key = try VerificationKey(signer.publicKey)
        let valid = try await withThrowingTaskGroup(of: Int.self) { group in
            for task in 0..<tasks {
                group.addTask {
                    try (0..<50).count { turn in
                        let message = [UInt8(task), UInt8(turn)]
                        return key.verifies(try signer.sign(message), of: message, algorithm: algorithm)
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(valid == tasks * 50)
    }
}
