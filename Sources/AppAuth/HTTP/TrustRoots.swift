package import AppAuthProtocol
internal import FoundationEssentials

/// The certificates that a server's chain has to end in, in the terms of libcurl's options.
package enum TrustRoots: Sendable, Hashable {
    /// What libcurl was built to use.
    case builtIn
    /// These, and no others: a file, or the contents of several, and a folder with hashed names.
    case chosen(file: String?, bundle: [UInt8]?, directory: String?)

    /// Where distributions keep roots under the names that OpenSSL looks them up by. With these it reads one file a
    /// connection; the bundle, which is libcurl's default, costs 19 ms of CPU.
    package static let hashedDirectories = [
        "/etc/ssl/certs",  // Debian, Ubuntu, Arch, Alpine
        "/etc/pki/ca-trust/extracted/pem/directory-hash",  // Fedora, RHEL
        "/var/lib/ca-certificates/openssl",  // openSUSE
    ]

    /// Finds the roots of a configuration and reads what has to be read.
    ///
    /// libcurl as a library reads none of `CURL_CA_BUNDLE`, `SSL_CERT_FILE` and `SSL_CERT_DIR`: this does.
    ///
    /// - Parameter builtIn: The file and the folder that libcurl was built with.
    /// - Throws: ``AuthError`` with the code `invalid_configuration` that names a file which is no PEM file of
    ///   certificates, or a folder which is none.
    package static func find(
        _ configuration: CurlTransport.Configuration, environment: (String) -> String?,
        builtIn: (file: String?, directory: String?), hashedDirectories: [String] = hashedDirectories
    ) throws(AuthError) -> TrustRoots {
        var files: [(path: String, source: String)] = []
        var directory: String?
        switch configuration.roots {
        case .files(let paths): files = paths.map { ($0, "the configuration") }
        case .system:
            let variables = ["CURL_CA_BUNDLE", "SSL_CERT_FILE"]
            if let name = variables.first(where: { environment($0)?.isEmpty == false }), let path = environment(name) {
                files = [(path, name)]
            }
            if let path = environment("SSL_CERT_DIR"), !path.isEmpty { directory = try checked(path) }
            if files.isEmpty, directory == nil {
                directory = hashedDirectories.first(where: holdsHashedCertificates)
                if directory == nil {
                    if configuration.additionalRoots.isEmpty { return .builtIn }
                    directory = builtIn.directory
                    if let file = builtIn.file, FileManager.default.fileExists(atPath: file) {
                        files = [(file, "libcurl's default")]
                    }
                }
            }
        }
        files += configuration.additionalRoots.map { ($0, "the additional roots") }
        guard directory != nil || !files.isEmpty else {
            throw refused("expected a file of trusted certificates, found none in the configuration")
        }
        var contents: [[UInt8]] = []
        for file in files { contents.append(try read(file.path, source: file.source)) }
        if files.count < 2 { return .chosen(file: files.first?.path, bundle: nil, directory: directory) }
        return .chosen(file: nil, bundle: contents.flatMap { $0 + [0x0a] }, directory: directory)
    }

    /// Whether a folder is one of hashed names. A handful may be what an administrator has added beside a bundle.
    static func holdsHashedCertificates(_ directory: String) -> Bool {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: directory) else { return false }
        return names.lazy.filter(isHashedName).prefix(16).count == 16
    }

    /// Eight hexadecimal digits, a point and a number, for example `5ad8a5d6.0`.
    private static func isHashedName(_ name: String) -> Bool {
        let bytes = name.utf8
        guard bytes.count > 9 else { return false }
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        let letters = UInt8(ascii: "a")...UInt8(ascii: "f")
        return bytes.prefix(8).allSatisfy { digits.contains($0) || letters.contains($0) }
            && bytes.dropFirst(8).first == UInt8(ascii: ".") && bytes.dropFirst(9).allSatisfy(digits.contains)
    }

    private static func read(_ path: String, source: String) throws(AuthError) -> [UInt8] {
        let bytes: [UInt8]
        do { bytes = try InputFile.read(path, atMost: 64 << 20) } catch {
            throw refused("the file of trusted certificates \(path) (\(source)): \(error.description)")
        }
        let begins = ["-----BEGIN CERTIFICATE-----", "-----BEGIN TRUSTED CERTIFICATE-----"]
        guard begins.contains(where: { bytes.contains($0.utf8) }) else {
            throw refused("expected PEM certificates in \(path) (\(source)), found none")
        }
        return bytes
    }

    /// OpenSSL takes several folders with colons between them; one that exists is enough.
    private static func checked(_ directories: String) throws(AuthError) -> String {
        for directory in directories.split(separator: ":") {
            var isDirectory = false
            if FileManager.default.fileExists(atPath: String(directory), isDirectory: &isDirectory), isDirectory {
                return directories
            }
        }
        throw refused("the folder of trusted certificates \(directories) (SSL_CERT_DIR) does not exist")
    }

    private static func refused(_ message: String) -> AuthError {
        AuthError(.invalidConfiguration, .configuration, message, outcome: .notSent)
    }
}

extension [UInt8] {
    /// Whether they hold a text. The generic search of the standard library takes milliseconds for a bundle of certificates,
    /// and the first request of a process waits for it.
    fileprivate func contains(_ text: String.UTF8View) -> Bool {
        var rest = self[...]
        while let start = rest.firstIndex(where: { $0 == text.first }) {
            rest = rest[start...]
            if rest.starts(with: text) { return true }
            rest = rest.dropFirst()
        }
        return false
    }
}
