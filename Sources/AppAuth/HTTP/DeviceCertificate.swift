internal import AppAuthProtocol
internal import CShims
internal import JOSE

/// A client certificate whose key a device uses, for libcurl's thread.
final class DeviceCertificate: @unchecked Sendable {
    let pointer: OpaquePointer
    private let key: PrivateKey

    /// Opens the key, which signs twice. Returns nil if the key is in a file that libcurl reads.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration``.
    init?(_ certificate: ClientCertificate) throws {
        let name = certificate.keyFile ?? certificate.file
        let opened: ClientKey
        if ClientKey.isURI(name) {
            opened = try ClientKey(uri: name, pin: certificate.passphrase)
        } else {
            let text = (try? InputFile.read(name, atMost: 64 << 10)).map { String(decoding: $0, as: UTF8.self) }
            guard let text, ClientKey.isURI(text) else { return nil }
            opened = try ClientKey(pem: text)
        }
        guard let key = opened.deviceKey, let context = key.context else { return nil }
        guard let pointer = shims_client_certificate_new(certificate.file, key.pointer, context.pointer) else {
            throw AuthError(
                .invalidConfiguration, .configuration,
                "TLS cannot sign with the key of the client certificate: an RSA key in a TPM needs tpm2-openssl 1.2")
        }
        (self.pointer, self.key) = (pointer, key)
    }

    deinit { shims_client_certificate_free(pointer) }
}
