internal import AppAuthConcurrency
internal import CLibcrypto
internal import CShims
internal import Glibc

/// A provider of OpenSSL 3 that uses private keys where they are, for example in a TPM, so that they cannot be copied.
public struct KeyProvider: RawRepresentable, Sendable, Hashable {
    /// OpenSSL's name of the provider: that of its library, without `.so`.
    public let rawValue: String

    /// Creates a provider from OpenSSL's name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The TPM of this machine. Debian's package is `tpm2-openssl`.
    ///
    /// The TPM is `/dev/tpmrm0`, or another that the environment variable `TPM2OPENSSL_TCTI` names.
    public static let tpm2 = KeyProvider(rawValue: "tpm2")
    /// A smart card or another token with a PKCS#11 module. The package is `pkcs11-provider`, which Debian has since
    /// version 13.
    public static let pkcs11 = KeyProvider(rawValue: "pkcs11")

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

/// A library context of OpenSSL with one provider, and with the keys that it has opened.
final class ProviderContext: @unchecked Sendable {
    let pointer: OpaquePointer
    private let loaded: [OpaquePointer?]
    /// tpm2-openssl has no locks before version 1.2.
    fileprivate let turn = LockedValue(())

    init(_ provider: KeyProvider) throws(JOSEError) {
        let name = provider.rawValue
        // OpenSSL would take a name with a slash for the path of a library.
        guard !name.isEmpty, name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) }) else {
            throw JOSEError("expected the name of a provider of OpenSSL, found \(name.foundText)")
        }
        if provider == .tpm2 { try Self.requireTPM() }
        var (loaded, isMissing) = ([OpaquePointer?](repeating: nil, count: 2), CInt(0))
        // The digests of a TPM are slow.
        guard let pointer = shims_provider_open(name, "?provider=\(name),tpm2.digest!=yes", &loaded, &isMissing) else {
            throw isMissing == 1 ? provider.missing : JOSEError("OpenSSL's provider \(name.foundText) does not start")
        }
        (self.pointer, self.loaded) = (pointer, loaded)
    }

    deinit { shims_provider_close(pointer, loaded) }

    /// Throws if this process cannot use the TPM. Without this check, the provider would turn to any program that listens on
    /// TCP port 2321, and trust it with the key.
    private static func requireTPM() throws(JOSEError) {
        guard shims_secure_getenv("TPM2OPENSSL_TCTI") == nil else { return }
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
            switch self {
            case .tpm2: ". Install the package tpm2-openssl"
            case .pkcs11: ". Install the package pkcs11-provider, which Debian has since version 13"
            default: ""
            }
        return JOSEError("OpenSSL has no provider \(rawValue.foundText)\(hint)")
    }
}
