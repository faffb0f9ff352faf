import Foundation
import JOSE
import SoftwareTPM
import Testing

/// Keys in a TPM. Each test is a process of its own, since all of a process has one environment.
@Suite(
    .timeLimit(.minutes(5)), .enabled(if: SoftwareTPM.isInstalled, "\(SoftwareTPM.packages)"))
struct ProviderKeyTests {
    private static func requireSigns(_ key: SigningKey) throws {
        let message = Array("a message".utf8)
        let signature = try key.sign(message)
        let verifier = try VerificationKey(key.publicKey)
        try #require(verifier.verifies(signature, of: message, algorithm: key.algorithm))
        try #require(!verifier.verifies(signature, of: message + [0], algorithm: key.algorithm))
    }

    @Test func `a key is made in the TPM, and its wrapped form opens there only`() async {
        await #expect(processExitsWith: .success) {
            await SoftwareTPM.use { tpm in
                let key = try SigningKey.generate(.es256, in: .tpm2)
                try #require(key.isElsewhere && key.pem.hasPrefix("-----BEGIN TSS2 PRIVATE KEY-----\n"))
                try Self.requireSigns(key)
                let again = try SigningKey(pem: key.pem, algorithm: .es256)
                try #require(again.isElsewhere && again.publicKey == key.publicKey)
                try Self.requireSigns(again)
                try #require(throws: JOSEError.self) { try RecipientKey(pem: key.pem) }
                func make(by tpm: SoftwareTPM) throws -> String {
                    try tpm.run(
                        "sh", "-c", "openssl genpkey -provider tpm2 -algorithm EC -pkeyopt group:P-256 2>/dev/null")
                }
                try Self.requireSigns(SigningKey(pem: make(by: tpm), algorithm: .es256))
                let other = try SoftwareTPM()
                defer { other.stop() }
                let foreign = try make(by: other)
                let error = try #require(throws: JOSEError.self) { try SigningKey(pem: foreign, algorithm: .es256) }
                try #require(error.description.contains("another has made"), "\(error)")
                try Self.requireSigns(again)
            }
        }
    }

    @Test func `many threads sign with one key`() async {
        await #expect(processExitsWith: .success) {
            await SoftwareTPM.use { _ in
                let key = try SigningKey.generate(.es256, in: .tpm2)
                try await withThrowingTaskGroup { group in
                    for _ in 0..<20 { group.addTask { try Self.requireSigns(key) } }
                    try await group.waitForAll()
                }
            }
        }
    }

    @Test func `a key that is no longer used leaves nothing in the TPM and its resource manager`() async {
        await #expect(processExitsWith: .success) {
            await SoftwareTPM.use { _ in
                // The resource manager has room for 27 connections.
                for _ in 0..<60 { try Self.requireSigns(SigningKey.generate(.es256, in: .tpm2)) }
            }
        }
    }

    @Test func `a URI names a key, with a PIN if it has one, and a wrong PIN is tried once`() async {
        await #expect(processExitsWith: .success) {
            await SoftwareTPM.use { tpm in
                let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                defer { try? FileManager.default.removeItem(at: folder) }
                try tpm.makeKeys([("0x81000001", ""), ("0x81000002", "1234")], in: folder.path)
                func open(_ uri: String, pin: String? = nil) throws -> SigningKey {
                    try SigningKey(PrivateKey(opening: uri, with: .tpm2, passphrase: pin), .es256)
                }
                try Self.requireSigns(open("handle:0x81000001"))
                try Self.requireSigns(open("handle:0x81000002", pin: "1234"))
                try #require(throws: JOSEError.self) { try open("handle:0x81000003") }
                // For a session's key, a handle is used, and none is filled.
                let named = try SigningKey.generate(
                    .es256, in: .tpm2(handle: "handle:0x81000001"), at: "handle:0x81000001")
                try #require(try named.publicKey == open("handle:0x81000001").publicKey)
                try Self.requireSigns(named)
                try KeyProvider.tpm2(handle: "handle:0x81000001").requireUsable()
                for _ in 0..<2 {
                    try #require(throws: JOSEError.self) {
                        try SigningKey.generate(.es256, in: .tpm2(handle: "handle:0x81000003"), at: "handle:0x81000003")
                    }
                    try #require(throws: JOSEError.self) {
                        try KeyProvider.tpm2(handle: "handle:0x81000003").requireUsable()
                    }
                }
                try #require(try tpm.wrongPINs() == "0x0")
                let error = try #require(throws: JOSEError.self) {
                    try open("handle:0x81000002", pin: "4321").sign([1])
                }
                try #require(error.description.contains("PIN may be wrong"), "\(error)")
                try #require(try tpm.wrongPINs() == "0x1")
                // Locked by that, it signs nothing, with no key.
                try KeyProvider.tpm2.requireUsable()
                _ = try tpm.run("tpm2_dictionarylockout", "-s", "-n", "1", "-t", "1000", "-l", "1000")
                for provider in [KeyProvider.tpm2, .tpm2(handle: "handle:0x81000001")] {
                    let locked = try #require(throws: JOSEError.self) { try provider.requireUsable() }
                    try #require(locked.description.contains("wrong PINs"), "\(locked)")
                }
            }
        }
    }
}

/// What is missing is named, without a TPM.
@Suite(.timeLimit(.minutes(1))) struct MissingProviderTests {
    @Test func `the error names what is missing`() async {
        await #expect(processExitsWith: .success) {
            func error(_ provider: KeyProvider) -> String {
                do { _ = try SigningKey.generate(.es256, in: provider) } catch { return "\(error)" }
                return ""
            }
            unsetenv("TPM2OPENSSL_TCTI")
            setenv("OPENSSL_MODULES", "/nonexistent", 1)
            if access("/dev/tpmrm0", F_OK) != 0 { try #require(error(.tpm2).contains("there is no /dev/tpmrm0")) }
            // An empty value names no TPM, and would let any program on TCP port 2321 be it.
            setenv("TPM2OPENSSL_TCTI", "", 1)
            if access("/dev/tpmrm0", F_OK) != 0 { try #require(error(.tpm2).contains("there is no /dev/tpmrm0")) }
            setenv("TPM2OPENSSL_TCTI", "device:/nonexistent", 1)
            try #require(error(.tpm2).contains("Install the package tpm2-openssl"), "\(error(.tpm2))")
            try #require(error(.pkcs11).contains("Install the package pkcs11-provider"), "\(error(.pkcs11))")
            for name in ["", "../evil", "/tmp/evil", "a b", "\u{e4}"] {
                try #require(error(KeyProvider(rawValue: name)).contains("expected the name of a provider"))
            }
        }
    }

    @Test(
        arguments: [
            ("pkcs11:token=Work", true), ("pkcs11:serial=12;object=login", true), ("pkcs11:token=a%20b;id=%01", true),
            ("pkcs11", false), ("pkcs11:", false), ("pkcs11:object=login", false), ("pkcs11:token=a b", false),
            ("pkcs11:token=Work?pin-value=1234", false), ("pkcs11:token=Work;pin-value=1234", false),
            ("pkcs11:token=Work&pin-value=1234", false),
            ("pkcs11:token=Work;pin-source=/pin", false), ("pkcs11:token=W\u{e4}rk", false),
            ("pkcs11:token=a\nb", false),
        ])
    func `the URI of a token names the token, and has no PIN`(uri: String, isAccepted: Bool) {
        guard isAccepted else {
            let error = #expect(throws: JOSEError.self) { try KeyProvider.pkcs11(token: uri).keyURI(for: "a") }
            #expect(error?.description.contains("1234") == false)
            return
        }
        let keys = ["a", "b"].map { try? KeyProvider.pkcs11(token: uri).keyURI(for: $0) }
        // A token that names a key has one. Otherwise it has one for each client.
        #expect((keys[0] == keys[1]) == (uri.contains("object=") || uri.contains("id=")))
        #expect(keys.allSatisfy { $0?.hasPrefix(uri + ";") == true && $0?.hasSuffix(";type=private") == true })
    }

    @Test(
        arguments: [
            ("handle:0x81000001", true), ("handle:0x8100ABcd", true), ("handle:0x1", true),
            ("handle:", false), ("handle:81000001", false), ("handle:0x", false), ("handle:0x8100000g", false),
            ("handle:0x810000011", false), ("handle:0x81000001?", false), ("handle:0x81000001?pass", false),
            ("handle:0x81000001?pass=1234", false),
            ("handle:0x81000001?pass?pass", false), ("handle:0x8100000\u{FF11}", false), ("handle:0x81000001 ", false),
        ])
    func `the URI of a handle has a number and no PIN`(uri: String, isAccepted: Bool) throws {
        let provider = KeyProvider.tpm2(handle: uri)
        #expect(provider.name == "tpm2")
        #expect((try? provider.keyURI(for: "a")) == (isAccepted ? uri : nil))
        let error = isAccepted ? nil : #expect(throws: JOSEError.self) { try provider.keyURI(for: "a") }
        #expect(error?.description.contains("1234") != true)
    }

    @Test(arguments: [SignatureAlgorithm.rs256, .edDSA])
    func `a provider makes only keys on curves`(algorithm: SignatureAlgorithm) {
        #expect(throws: JOSEError.self) { try SigningKey.generate(algorithm, in: .tpm2) }
    }
}
