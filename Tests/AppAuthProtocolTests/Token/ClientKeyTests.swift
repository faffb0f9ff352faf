import AppAuthConcurrency
import AppAuthProtocol
import Foundation
import JOSE
import TestFixtures
import Testing

/// The forms in which a client's key comes.
struct ClientKeyTests {
    /// Runs openssl, and returns its output.
    private func openssl(_ arguments: [String], input: String = "") throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/openssl")
        process.arguments = arguments
        let (stdin, stdout) = (Pipe.exclusive(), Pipe.exclusive())
        (process.standardInput, process.standardOutput, process.standardError) = (stdin, stdout, FileHandle.nullDevice)
        try process.run()
        try stdin.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try stdin.fileHandleForWriting.close()
        let output = try stdout.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return String(decoding: output, as: UTF8.self)
    }

    @Test(arguments: [
        (["genrsa", "-traditional", "2048"], "RSA PRIVATE KEY", "RSA"),
        (["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"], "PRIVATE KEY", "RSA"),
        (["ecparam", "-name", "prime256v1", "-genkey", "-noout"], "EC PRIVATE KEY", "EC"),
        (["genpkey", "-algorithm", "ED25519"], "PRIVATE KEY", "OKP"),
    ])
    func `PKCS#1, PKCS#8 and SEC 1 are read`(make: [String], label: String, type: String) throws {
        let pem = try openssl(make)
        #expect(pem.contains("BEGIN \(label)"))
        #expect(try ClientKey(pem: pem).publicJWK["kty"]?.string == type)
    }

    @Test(arguments: [
        ["pkcs8", "-topk8", "-v2", "aes256", "-passout", "pass:open sesame"],
        ["ec", "-aes256", "-passout", "pass:open sesame"],
    ])
    func `an encrypted key asks only the app for its passphrase`(encrypt: [String]) async throws {
        let pem = try openssl(encrypt, input: openssl(["ecparam", "-name", "prime256v1", "-genkey", "-noout"]))
        #expect(pem.contains("ENCRYPTED"))
        _ = try await ClientKey(pem: pem) { Secret("open sesame") }
        let wrong = await authError { try await ClientKey(pem: pem) { Secret("wrong words") } }
        #expect(wrong?.code == .invalidConfiguration && wrong?.message.contains("wrong words") == false)
        #expect(throws: AuthError.self) { try ClientKey(pem: pem) }
        await #expect(throws: CancellationError.self) { try await ClientKey(pem: pem) { throw CancellationError() } }
    }

    @Test func `an encrypted key is asked for and decrypted once, for all its algorithms`() async throws {
        // One decryption of this one takes far longer than all the rest.
        let pem = try openssl(
            ["pkcs8", "-topk8", "-v2", "aes256", "-iter", "200000", "-passout", "pass:open sesame"],
            input: openssl(["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]))
        let asked = LockedValue(0)
        func once() throws { _ = try PrivateKey(pem: pem, passphrase: "open sesame") }
        func whole() async throws {
            let key = try await ClientKey(pem: pem) {
                asked.withLock { $0 += 1 }
                return Secret("open sesame")
            }
            #expect(key.signingKey(["RS512"]) != nil && key.signingKey(["PS256"]) != nil)
        }
        // The shortest of a few, by the processor's time: others may be at work here.
        var (one, all) = ([Double](), [Double]())
        for _ in 0..<3 {
            var begin = clock()
            try once()
            one.append(Double(clock() - begin))
            begin = clock()
            try await whole()
            all.append(Double(clock() - begin))
        }
        #expect(asked.withLock { $0 } == 3)
        #expect(try #require(all.min()) < 3 * #require(one.min()), "\(one) \(all)")
    }

    @Test func `a key that is not encrypted needs no passphrase`() async throws {
        let pem = try SigningKey.generate(.es256).pem
        _ = try await ClientKey(pem: pem) { throw CancellationError() }
    }

    @Test(arguments: [
        ("", "no PEM"), ("no key", "no PEM"),
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "an unreadable one"),
        ("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n", "an encrypted one"),
        ("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "a public key"),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "a certificate"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n", "an OpenSSH key"),
    ])
    func `a text that is no key is refused, and not repeated`(pem: String, found: String) {
        let error = #expect(throws: AuthError.self) { try ClientKey(pem: pem) }
        #expect(error?.code == .invalidConfiguration && error?.message.contains("AAAA") == false)
        #expect(error?.message.contains(found) == true, "\(String(describing: error))")
    }

    // RFC 7515 appendix A.3.1, RFC 8037 appendix A.1: private keys that are published.
    private static let ec: JSON.Object = [
        "kty": "EC", "crv": "P-256", "kid": "mine",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
        "d": "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI",
    ]
    private static let ed: JSON.Object = [
        "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        "d": "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
    ]

    @Test(arguments: [ec, ed])
    func `a private JWK is read, and its public one contains no secret`(jwk: JSON.Object) throws {
        let key = try ClientKey(jwk: .object(jwk))
        #expect(key.keyID == jwk["kid"]?.string)
        #expect(key.publicJWK["x"] == jwk["x"] && key.publicJWK["d"] == nil)
        #expect(!"\(key) \(String(reflecting: key))".contains(jwk["d"]?.string ?? ""))
    }

    @Test(arguments: [ec, ed])
    func `a private part that does not belong to the public one is refused`(jwk: JSON.Object) throws {
        var other = jwk
        other["d"] = Self.ed["d"] == jwk["d"] ? Self.ec["d"] : Self.ed["d"]
        #expect(throws: AuthError.self) { try ClientKey(jwk: .object(other)) }
        other["d"] = nil
        #expect(throws: AuthError.self) { try ClientKey(jwk: .object(other)) }
        other["d"] = "AAAA"
        #expect(throws: AuthError.self) { try ClientKey(jwk: .object(other)) }
    }

    @Test func `a JWK's algorithm is the only one it is used for`() throws {
        var jwk = Self.ec
        jwk["alg"] = "ES256"
        #expect(try ClientKey(jwk: .object(jwk)).publicJWK["alg"] == "ES256")
        jwk["alg"] = "ES384"
        #expect(throws: AuthError.self) { try ClientKey(jwk: .object(jwk)) }
    }
}
