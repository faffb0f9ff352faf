internal import CLibcrypto

/// The process's libcrypto.
package enum Libcrypto {
    /// Its version, for example `3.0.19`.
    package static var version: String { OpenSSL_version(OPENSSL_VERSION_STRING).map { String(cString: $0) } ?? "none" }
}
