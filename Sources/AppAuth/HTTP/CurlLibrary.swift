package import AppAuthCore
internal import CLibcurl
internal import CShims

/// The system's libcurl, opened when it is first needed: it brings more than thirty libraries into the process.
package final class CurlLibrary: @unchecked Sendable {
    /// The names that the loader is asked for, in this order.
    package static let systemNames = ["libcurl.so.4"]

    /// The oldest version with all that is used here: a callback before each request (7.80).
    static let oldestVersion: UInt32 = 0x07_50_00

    let curl: UnsafePointer<shims_curl>
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

    private init(owning curl: UnsafePointer<shims_curl>) throws(AuthError) {
        guard let info = curl.pointee.version_info(CURLVERSION_SEVENTH) else {
            shims_curl_free(curl)
            throw CurlLibrary.unavailable("does not tell its version")
        }
        version = String(cString: info.pointee.version)
        guard info.pointee.version_num >= CurlLibrary.oldestVersion else {
            shims_curl_free(curl)
            throw CurlLibrary.unavailable("is version \(version), expected 7.80 or newer")
        }
        builtInRoots = (
            info.pointee.cainfo.map { String(cString: $0) }, info.pointee.capath.map { String(cString: $0) }
        )
        self.curl = curl
    }

    deinit { shims_curl_free(curl) }

    /// What a code means, in libcurl's words.
    func meaning(of code: CURLcode) -> String {
        curl.pointee.easy_strerror(code).map { String(cString: $0) } ?? "code \(code.rawValue)"
    }

    private static func unavailable(_ problem: String) -> AuthError {
        AuthError(
            .unavailable, .configuration,
            "libcurl \(problem): install libcurl4 (Debian 12, Ubuntu 22.04) or libcurl4t64 (Debian 13, Ubuntu 24.04)",
            outcome: .notSent)
    }
}
