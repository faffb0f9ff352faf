import JOSE
import Testing

struct ScryptTests {
    /// Computed with `openssl kdf -kdfopt n:32768 -kdfopt r:8 -kdfopt p:3`.
    @Test func `the key equals that of another implementation`() throws {
        let key = try Scrypt.derive(40, from: Array("correct horse".utf8), salt: Array("sixteen bytes ok".utf8))
        let text = key.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        #expect(text == "0948ff9cf2c16d10fe8a517f410e03899a3e5959b5eb355c8887fd99f2f72561b841608580fea427")
    }
}
