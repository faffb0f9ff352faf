package import AppAuthProtocol
internal import CShims

/// The system's libcurl. It is loaded on first use, since it brings more than thirty libraries into the process.
package final class CurlLibrary: @unchecked Sendable {
    /// The library names to try, in order.
    package static let systemNames = ["libcurl.so.4"]

    /// The oldest version with all required features. The newest of these is the callback before each request (7.80).
    static let oldestVersion: UInt32 = 0x07_50_00

    let curl: OpaquePointer
    /// The version of the library.
    package let version: String
    /// The file and the folder of trusted certificates that the library was built to use.
    let builtInRoots: (file: String?, directory: String?)

    /// Loads the first library that exists on the system.
    ///
    /// - Throws: ``AuthError`` with the code `unavailable`, which names the package to install.
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

    /// Returns libcurl's description of a code.
    func meaning(of code: shims_curl_code) -> String { String(cString: shims_curl_meaning(curl, code)) }

    private static func unavailable(_ problem: String) -> AuthError {
        AuthError(
            .unavailable, .configuration,
            "libcurl \(problem): install libcurl4 (Debian 12, Ubuntu 22.04) or libcurl4t64 (Debian 13, Ubuntu 24.04)",
            outcome: .notSent)
    }
}
