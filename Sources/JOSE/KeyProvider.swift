internal import AppAuthConcurrency
internal import CLibcrypto
internal import CShims
internal import Glibc

/// A provider of OpenSSL 3 that uses private keys where they are, for example in a TPM, so that they cannot be copied.
public struct KeyProvider: RawRepresentable, Sendable, Hashable {
    /// OpenSSL's name of the provider: that of its library, without `.so`. With ``pkcs11(token:)``, the URI of the token. With
    /// ``tpm2(handle:)``, the URI of the key.
    public let rawValue: String

    /// Creates a provider from OpenSSL's name, or from the URI of a token or a handle.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The TPM of this machine. Debian's package is `tpm2-openssl`.
    ///
    /// The TPM is `/dev/tpmrm0`, or another that the environment variable `TPM2OPENSSL_TCTI` names.
    public static let tpm2 = KeyProvider(rawValue: "tpm2")
    /// A smart card or another token with a PKCS#11 module. The packages are `pkcs11-provider` and `p11-kit-modules`, which
    /// Debian has since version 13.
    public static let pkcs11 = KeyProvider(rawValue: "pkcs11")

    /// A token that makes keys, or that has one to use.
    ///
    /// - Parameter uri: The URI of the token (RFC 7512), without a PIN, for example `pkcs11:token=Work`. With an `object` or
    ///   `id`, it names the key, which is made if the token does not have it.
    public static func pkcs11(token uri: String) -> KeyProvider { KeyProvider(rawValue: uri) }

    /// A key that the TPM has already, and that is used where it is.
    ///
    /// - Parameter uri: The key's handle, for example `handle:0x81000001`. The key has no PIN.
    public static func tpm2(handle uri: String) -> KeyProvider { KeyProvider(rawValue: uri) }

    /// OpenSSL's name of the provider.
    package var name: String {
        isHandle ? Self.tpm2.rawValue : rawValue.hasPrefix("pkcs11:") ? Self.pkcs11.rawValue : rawValue
    }

    /// Whether it names a key of the TPM, in place of making one.
    private var isHandle: Bool { rawValue.hasPrefix("handle:") }

    /// The provider of the key that a URI names, or of a wrapped key in PEM; nil for another text.
    package init?(ofKey text: String) {
        if text.hasPrefix("handle:") || text.contains(Self.wrappedKey) {
            self = .tpm2
        } else if text.hasPrefix("pkcs11:") {
            self = .pkcs11
        } else {
            return nil
        }
    }

    /// The begin of a key that only the TPM that has made it can use.
    static let wrappedKey = "-----BEGIN TSS2 PRIVATE KEY-----"
}

extension KeyProvider {
    /// Throws if the provider, its device or a key that it names is missing, or if a TPM signs nothing, for example after wrong
    /// PINs. It leaves no key there.
    package func requireUsable() throws(JOSEError) {
        guard name == Self.tpm2.rawValue else { return _ = try ProviderContext.open(self) }
        _ = try SigningKey(key(.p256, at: nil, pin: nil), .es256).sign([1])
    }

    /// Makes a key, or opens the one that this names.
    ///
    /// - Parameter uri: That of ``keyURI(for:)``.
    func key(_ curve: Curve, at uri: String?, pin: String?) throws(JOSEError) -> PrivateKey {
        if isHandle { return try PrivateKey(opening: rawValue, with: self) }
        return try PrivateKey(generatedBy: self, curve, at: uri, passphrase: pin)
    }

    /// Returns the URI of a key: the one that this names, or on a token, one for these words. Nil for a provider whose keys
    /// have no URI.
    ///
    /// - Throws: ``JOSEError`` if the provider names neither a handle nor a token. The message does not repeat the URI, which
    ///   may have a PIN.
    package func keyURI(for words: String) throws(JOSEError) -> String? {
        if isHandle {
            let number = rawValue.dropFirst("handle:".count)
            guard number.hasPrefix("0x"), 3...10 ~= number.utf8.count,
                number.utf8.dropFirst(2).allSatisfy({ $0.hexDigitValue != nil })
            else {
                throw JOSEError("expected the handle of a key without a PIN, for example handle:0x81000001")
            }
            return rawValue
        }
        guard name == Self.pkcs11.rawValue else { return nil }
        // The provider also takes `&` for the end of an attribute.
        let parts = rawValue.dropFirst("pkcs11:".count).split(separator: ";")
        let attributes = Set(parts.map { $0.prefix { $0 != "=" } })
        guard rawValue.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !"?&".utf8.contains($0) }),
            !attributes.isDisjoint(with: ["token", "serial"]), !attributes.contains(where: { $0.hasPrefix("pin") })
        else { throw JOSEError("expected the URI of a token without a PIN, for example pkcs11:token=Work") }
        func escaped(_ bytes: some Sequence<UInt8>) -> String {
            bytes.map { ($0 < 16 ? "%0" : "%") + String($0, radix: 16) }.joined()
        }
        let isNamed = !attributes.isDisjoint(with: ["object", "id"])
        let key = "object=\(escaped(words.utf8.prefix(32)));id=\(escaped(Digest.sha256.hash(words).prefix(16)));"
        return "\(rawValue);\(isNamed ? "" : key)type=private"
    }
}

/// A library context of OpenSSL with one provider, and with the keys that it has opened.
package final class ProviderContext: @unchecked Sendable {
    package let pointer: OpaquePointer
    private let loaded: [OpaquePointer?]
    /// tpm2-openssl has no locks before version 1.2.
    fileprivate let turn = LockedValue(())

    /// A PKCS#11 module belongs to its process, and so does the login to a token. If one context were closed, the keys of
    /// others would no longer work. So there is one, which is never closed.
    private static let ofTokens = LockedValue<ProviderContext?>(nil)

    static func open(_ provider: KeyProvider) throws(JOSEError) -> ProviderContext {
        guard provider.name == KeyProvider.pkcs11.rawValue else { return try ProviderContext(provider) }
        return try ofTokens.withLock { context throws(JOSEError) in
            if let context { return context }
            let opened = try ProviderContext(provider)
            context = opened
            return opened
        }
    }

    private init(_ provider: KeyProvider) throws(JOSEError) {
        let name = provider.name
        // OpenSSL would take a name with a slash for the path of a library.
        guard !name.isEmpty, name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) }) else {
            throw JOSEError("expected the name of a provider of OpenSSL, found \(name.foundText)")
        }
        if name == KeyProvider.tpm2.rawValue { try Self.requireTPM() }
        var (loaded, isMissing) = ([OpaquePointer?](repeating: nil, count: 2), CInt(0))
        // The digests of a TPM are slow.
        guard let pointer = shims_provider_open(name, "?provider=\(name),tpm2.digest!=yes", &loaded, &isMissing) else {
            throw isMissing == 1 ? provider.missing : JOSEError("OpenSSL’s provider \(name.foundText) does not start")
        }
        (self.pointer, self.loaded) = (pointer, loaded)
    }

    deinit { shims_provider_close(pointer, loaded) }

    /// Throws if this process cannot use the TPM. Without this check, the provider would turn to any program that listens on
    /// TCP port 2321, and trust it with the key.
    private static func requireTPM() throws(JOSEError) {
        // An empty value names none.
        guard shims_secure_getenv("TPM2OPENSSL_TCTI").map({ $0.pointee == 0 }) ?? true else { return }
        let device = "/dev/tpmrm0"
        guard access(device, F_OK) == 0 else { throw JOSEError("this machine has no TPM 2.0: there is no \(device)") }
        guard access(device, R_OK | W_OK) == 0 else {
            throw JOSEError("no permission to use \(device). Add the user to the group tss, and log in again")
        }
    }
}

extension ProviderContext? {
    /// Runs work with a key: one at a time with a provider's, for as long as its device takes. A key in memory needs no turn.
    func using<Value, Failure>(_ work: () throws(Failure) -> Value) throws(Failure) -> Value {
        guard let self else { return try work() }
        return try self.turn.withLock { _ throws(Failure) in try work() }
    }
}

extension KeyProvider {
    fileprivate var missing: JOSEError {
        let hint =
            switch name {
            case Self.tpm2.rawValue: ". Install the package tpm2-openssl"
            case Self.pkcs11.rawValue: ". Install the package pkcs11-provider, which Debian has since version 13"
            default: ""
            }
        return JOSEError("OpenSSL has no provider \(name.foundText)\(hint)")
    }

    /// The end of a message about a token that is not found.
    var modules: String {
        ". Its module is in PKCS11_PROVIDER_MODULE, or registered at p11-kit (package p11-kit-modules)"
    }
}
