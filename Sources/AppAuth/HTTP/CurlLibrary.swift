package import AppAuthProtocol
internal import CShims

/// The system's libcurl, opened when it is first needed: it brings more than thirty libraries into the process.
package final class CurlLibrary: @unchecked Sendable {
    /// The names that the loader is asked for, in this order.
    package static let systemNames = ["libcurl.so.4"]

    /// The oldest version with all that is used here: a callback before each request (7.80).
    static let oldestVersion: UInt32 = 0x07_50_00

    let curl: OpaquePointer
    /// Version, and where the library was built to look for roots.
    let version: String
    let builtInRoots: (file: String?, directory: String?)

    /// Opens the first of the names that the system has.
    ///
    /// - Throws: ``AuthError`` with the code `unavailable` that names the package to install.
    package static func load(names: [String] = systemNames) throws(AuthError) -> CurlLibrary {
        var problems: [String] = []
        for name in names {
            let capacity = 256
            let problem = UnsafeMutablePointer<CChar>.allocate(capacity: capacity)
            problem.initialize(repeating: 0, count: capacity)
            defer { problem.deallocate() }
            if let curl = shims_curl_open(name, problem, capacity) { return try CurlLibrary(owning: curl) }
            problems.append(String(cString: problem))
        }
        throw unavailable("could not be opened (\(problems.joined(separator: "; ")))")
    }

    private init(owning curl: OpaquePointer) throws(AuthError) {
        let own = shims_curl_version(curl)
        version = String(cString: own.text)
        guard own.number >= CurlLibrary.oldestVersion else {
            shims_curl_free(curl)
            throw CurlLibrary.unavailable("is version \(version), expected 7.80 or newer")
        }
        builtInRoots = (own.ca_file.map { String(cString: $0) }, own.ca_directory.map { String(cString: $0) })
        self.curl = curl
    }

    deinit { shims_curl_free(curl) }

    /// What a code means, in libcurl's words.
    func meaning(of code: shims_curl_code) -> String { String(cString: shims_curl_meaning(curl, code)) }

    private static func unavailable(_ problem: String) -> AuthError {
        AuthError(
            .unavailable, .configuration,
            "libcurl \(problem): install libcurl4 (Debian 12, Ubuntu 22.04) or libcurl4t64 (Debian 13, Ubuntu 24.04)",
            outcome: .notSent)
    }
}
