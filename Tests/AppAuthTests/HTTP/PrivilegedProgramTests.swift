import Foundation
import TestFixtures
import Testing

/// A program with more rights than the user who starts it does not let that user choose its trust roots (secure_getenv(3)).
@Suite(.timeLimit(.minutes(1)))
struct PrivilegedProgramTests {
    private static let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent()

    /// A group that a file of this user's can have, and that the process does not run with.
    private static let otherGroup: gid_t? = {
        if geteuid() == 0 { return getegid() + 1 }
        var groups = [gid_t](repeating: 0, count: 64)
        let count = getgroups(64, &groups)
        return groups.prefix(max(0, Int(count))).first { $0 != getegid() }
    }()

    /// Whether the kernel gives a program the group of its file here.
    private static let honoursSetGID: Bool = {
        var system = statvfs()
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        return statvfs(folder.path, &system) == 0 && system.f_flag & UInt(ST_NOSUID) == 0
            && status.contains("NoNewPrivs:\t0")
    }()

    @Test(
        .enabled(if: otherGroup != nil && honoursSetGID, "the kernel ignores setgid here"),
        arguments: ["SSL_CERT_FILE", "CURL_CA_BUNDLE", "SSL_CERT_DIR"])
    func `the environment names no roots for a program that is setgid`(variable: String) async throws {
        let program = Self.folder.appending(path: "privileged-\(UUID().uuidString)")
        try await ProgramFile.copy(Self.folder.appending(path: "listening-app").path, to: program.path)
        defer { try? FileManager.default.removeItem(at: program) }
        // An ordinary program reads the variable, and finds that there is nothing.
        #expect(try code(of: program, variable) == "invalid_configuration")
        let group = try #require(Self.otherGroup)
        try #require(chown(program.path, geteuid(), group) == 0 && chmod(program.path, 0o2755) == 0)
        // Nothing listens there.
        #expect(try code(of: program, variable) == "transport")
    }

    private func code(of program: URL, _ variable: String) throws -> String {
        let (process, output) = (Process(), Pipe.exclusive())
        (process.executableURL, process.arguments) = (program, ["http://127.0.0.1:9"])
        (process.environment, process.standardOutput) = ([variable: "/nonexistent/roots"], output)
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        return text.trimmingCharacters(in: .newlines)
    }
}
