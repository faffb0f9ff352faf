package import AppAuthProtocol
internal import FoundationEssentials
internal import Glibc
internal import JOSE

/// The certificates that a server's chain must end in, as options for libcurl.
package enum TrustRoots: Sendable, Hashable {
    /// The default that libcurl was built with.
    case builtIn
    /// Only these: a file or the contents of several files, and a folder with hashed names.
    ///
    /// The fallback is the system's file of roots, for an issuer that the folder does not have: an administrator may have
    /// added it only there. To read it takes long.
    case chosen(file: String?, bundle: [UInt8]?, directory: String?, fallback: String? = nil)

    /// The folders in which distributions keep roots under the names that OpenSSL looks them up by. With such a folder,
    /// OpenSSL reads one file per connection. The bundle, libcurl's default, costs 19 ms of CPU time.
    package static let hashedDirectories = [
        "/etc/ssl/certs",  // Debian, Ubuntu, Arch, Alpine
        "/etc/pki/ca-trust/extracted/pem/directory-hash",  // Fedora, RHEL
        "/var/lib/ca-certificates/openssl",  // openSUSE
    ]

    /// Finds the roots of a configuration and reads their files.
    ///
    /// The libcurl library does not read `CURL_CA_BUNDLE`, `SSL_CERT_FILE` and `SSL_CERT_DIR`; this function does.
    ///
    /// - Parameters:
    ///   - configuration: The configuration of the transport.
    ///   - environment: Returns the value of an environment variable.
    ///   - builtIn: The file and the folder that libcurl was built with.
    ///   - hashedDirectories: The folders to look for hashed names in.
    /// - Throws: ``AuthError`` with the code `invalid_configuration`, which names a file without PEM certificates or a
    ///   folder that does not exist.
    package static func find(
        _ configuration: CurlTransport.Configuration, environment: (String) -> String?,
        builtIn: (file: String?, directory: String?), hashedDirectories: [String] = hashedDirectories
    ) throws(AuthError) -> TrustRoots {
        var files: [(path: String, source: String)] = []
        var (directory, fallback) = (String?.none, String?.none)
        switch configuration.roots {
        case .files(let paths): files = paths.map { ($0, "the configuration") }
        case .system:
            let variables = ["CURL_CA_BUNDLE", "SSL_CERT_FILE"]
            if let name = variables.first(where: { environment($0)?.isEmpty == false }), let path = environment(name) {
                files = [(path, name)]
            }
            if let path = environment("SSL_CERT_DIR"), !path.isEmpty { directory = try checked(path) }
            if files.isEmpty {
                directory = directory ?? hashedDirectories.first(where: holdsHashedCertificates)
                if let directory {
                    // The variable may name the system's own folder.
                    let isSystem = hashedDirectories.contains(directory)
                    fallback = builtIn.file.flatMap { isSystem && access($0, R_OK) == 0 ? $0 : nil }
                } else {
                    if configuration.additionalRoots.isEmpty { return .builtIn }
                    directory = builtIn.directory
                    if let file = builtIn.file, FileManager.default.fileExists(atPath: file) {
                        files = [(file, "libcurl’s default")]
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
        if files.count < 2 {
            return .chosen(file: files.first?.path, bundle: nil, directory: directory, fallback: fallback)
        }
        return .chosen(file: nil, bundle: contents.flatMap { $0 + [0x0a] }, directory: directory, fallback: fallback)
    }

    /// These roots, with those of the fallback. Nil if there is none, or if it cannot be read.
    var withFallback: TrustRoots? {
        guard case .chosen(let file, let bundle, let directory, let fallback?) = self else { return nil }
        guard let roots = try? Self.read(fallback, source: "libcurl’s default") else { return nil }
        let others = bundle ?? file.flatMap { try? InputFile.read($0, atMost: 64 << 20) } ?? []
        return .chosen(file: nil, bundle: others + [0x0a] + roots, directory: directory)
    }

    /// Returns whether a folder contains hashed names. A few may be an administrator's additions to a bundle.
    static func holdsHashedCertificates(_ directory: String) -> Bool {
        guard let names = try? FolderNames.read(directory) else { return false }
        return names.lazy.filter { isHashedName(Array($0.utf8)) }.prefix(16).count == 16
    }

    /// Returns whether a name has eight hexadecimal digits, a period and a number, for example `5ad8a5d6.0`.
    private static func isHashedName(_ bytes: [UInt8]) -> Bool {
        guard bytes.count > 9 else { return false }
        return bytes.prefix(8).allSatisfy { $0.hexDigitValue != nil }
            && bytes.dropFirst(8).first == UInt8(ascii: ".") && bytes.dropFirst(9).allSatisfy(\.isASCIIDigit)
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

    /// Checks a list of folders separated by colons, as OpenSSL accepts it. One existing folder is enough.
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
        var error = AuthError(.invalidConfiguration, .configuration, message)
        error.connectionProblem = .roots
        return error
    }
}

extension [UInt8] {
    /// Returns whether the bytes contain a text. The generic search of the standard library takes milliseconds for a
    /// bundle of certificates, which would delay the first request of a process.
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
