import AppAuthConcurrency
import AppAuthTestProvider
import Foundation
import TestFixtures

/// A server of git repositories that accepts the provider's tokens as passwords. The protocol is git's own
/// `git http-backend` (a CGI program, RFC 3875).
final class GitServer: Sendable {
    let server: SimpleServer
    private let rejected: LockedValue<Set<String>>

    /// Creates the repository `project.git` with one commit in the folder of the fixture.
    init(for fixture: CommandFixture) async throws {
        let (home, provider, rejected) = (fixture.home, fixture.provider, LockedValue<Set<String>>([]))
        self.rejected = rejected
        for words in [
            ["init", "--quiet", "\(home)/work"],
            ["-C", "\(home)/work", "commit", "--quiet", "--allow-empty", "-m", "a"],
            ["clone", "--quiet", "--bare", "\(home)/work", "\(home)/served/project.git"],
        ] { _ = try await fixture.git(words) }
        server = try SimpleServer { request in
            guard let login = request.basic, login.user == "oauth2", provider.isAlive(login.password),
                !rejected.withLock({ $0.contains(login.password) })
            else { return .basicChallenge }
            return try Self.backend(request, folder: home + "/served")
        }
    }

    var url: String { "http://\(server.host)/project.git" }

    /// Rejects a token from now on, although it has not expired.
    func reject(_ token: String) { rejected.withLock { _ = $0.insert(token) } }

    private static func backend(_ request: SimpleRequest, folder: String) throws -> SimpleResponse {
        let parts = request.target.split(separator: "?", maxSplits: 1).map(String.init)
        let environment = [
            "PATH": "/usr/bin:/bin", "GIT_PROJECT_ROOT": folder, "GIT_HTTP_EXPORT_ALL": "1", "REMOTE_USER": "test",
            "REQUEST_METHOD": request.method, "PATH_INFO": parts[0], "QUERY_STRING": parts.count > 1 ? parts[1] : "",
            "CONTENT_TYPE": request.headers["content-type"] ?? "", "CONTENT_LENGTH": "\(request.body.count)",
            "HTTP_CONTENT_ENCODING": request.headers["content-encoding"] ?? "",
            "GIT_PROTOCOL": request.headers["git-protocol"] ?? "",
        ]
        let files = try (0..<2).map { _ in
            let file = tmpfile()
            guard let file else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
            return file
        }
        defer { for file in files { fclose(file) } }
        let (input, output) = (fileno(files[0]), fileno(files[1]))
        _ = request.body.withUnsafeBytes { write(input, $0.baseAddress, $0.count) }
        lseek(input, 0, SEEK_SET)
        let id = try Spawn.start(
            ["git", "http-backend"], environment, input: .descriptor(input), output: output, errors: STDERR_FILENO)
        var status: CInt = 0
        while waitpid(id, &status, 0) < 0, errno == EINTR {}
        lseek(output, 0, SEEK_SET)
        let bytes = Array(FileHandle(fileDescriptor: output, closeOnDealloc: false).readDataToEndOfFile())
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { throw CocoaError(.fileReadCorruptFile) }
        var response = SimpleResponse(body: Array(bytes[end.upperBound...]))
        for line in String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n") {
            let name = String(line.prefix { $0 != ":" })
            let value = String(line.dropFirst(name.count + 2))
            if name == "Status" { response.status = value } else { response.headers.append((name, value)) }
        }
        return response
    }
}

extension CommandFixture {
    /// Runs git without the settings of the machine, and returns its outcome.
    func git(_ words: [String]) async throws -> Outcome { try await startGit(words).outcome() }

    func startGit(_ words: [String]) throws -> ChildProcess {
        try ChildProcess(["git"] + words, environment: gitEnvironment)
    }

    var gitEnvironment: [String: String] {
        let identity = ["GIT_AUTHOR", "GIT_COMMITTER"].flatMap {
            [("\($0)_NAME", "a"), ("\($0)_EMAIL", "a@example.org")]
        }
        let settings = [
            "GIT_CONFIG_GLOBAL": home + "/gitconfig", "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0",
        ]
        return environment.merging(settings) { $1 }.merging(identity) { $1 }
    }
}
