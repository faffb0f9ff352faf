import AppAuthConcurrency
import Glibc
import JOSE
import Testing

@Suite struct ExitTests {
    private static let left = LockedValue<(key: VerificationKey, signature: [UInt8])?>(nil)

    /// Threads continue while `exit` runs, even after the exit handler of libcrypto.
    @Test func `a signature is verified while the process ends`() async {
        await #expect(processExitsWith: .success) {
            // Exit handlers run in reverse order: this one, which is registered first, runs after libcrypto's.
            atexit {
                let isRight = ExitTests.left.withLock {
                    $0!.key.verifies($0!.signature, of: [1], algorithm: .es256)
                }
                if !isRight { _exit(1) }
            }
            let signer = try SigningKey.generate(.es256)
            let key = try VerificationKey(signer.publicKey)
            let signature = try signer.sign([1])
            ExitTests.left.withLock { $0 = (key, signature) }
            exit(0)
        }
    }
}
