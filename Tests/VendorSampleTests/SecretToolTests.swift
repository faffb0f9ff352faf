import AppAuth
import Foundation
import TestFixtures
import Testing

/// What the article OldServers shows for strings that are no tokens.
struct SecretToolTests {
    @Test func `the article's function keeps any string by its account, and throws if secret-tool fails`() async throws
    {
        // The function below is that of the article.
        let source = try String(contentsOfFile: #filePath, encoding: .utf8)
        let function = try #require(source.firstMatch(of: /\nfunc keyring.*?\n}\n/.dotMatchesNewlines())).0
        let articles = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../Sources/AppAuth/AppAuth.docc/Articles/OldServers.md")
        #expect(try String(contentsOf: articles, encoding: .utf8).contains(function))
        // In a process of its own, since the path of programs is changed.
        await #expect(processExitsWith: .success) { try await SecretToolTests.keepStrings() }
    }

    /// Keeps strings with a `secret-tool` that has its arguments and exit statuses, and a file for each string.
    private static func keepStrings() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "strings-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let script = """
            #!/bin/sh
            [ ! -e '\(folder.path)/locked' ] || { echo 'secret-tool: the keyring is locked' >&2; exit 1; }
            [ "$1" = store ] && [ "$2" = '--label=My shop' ] && shift
            file="\(folder.path)/$3-$5"
            case "$1$2$4" in
            *=*serviceaccount)
                cat > "$file"
                [ "$(wc -c < "$file")" -le 8192 ] || { truncate -s 8192 "$file"; echo 'password is too long' >&2; } ;;
            lookupserviceaccount) [ -e "$file" ] && cat "$file" ;;
            clearserviceaccount) rm "$file" 2>/dev/null ;;
            *) exit 2 ;;
            esac
            """
        try await ProgramFile.write(script, to: folder.path + "/secret-tool")
        setenv("PATH", folder.path + ":/usr/bin:/bin", 1)
        try #require(try keyring("lookup", account: "api") == nil)
        for (account, value) in [("api", "any string\n"), ("other", "of another account")] {
            _ = try keyring("store", "--label=My shop", account: account, value: value)
        }
        try #require(try keyring("lookup", account: "api") == "any string\n")
        _ = try keyring("clear", account: "api")
        try #require(try keyring("lookup", account: "api") == nil)
        _ = try keyring("clear", account: "api")
        try #require(try keyring("lookup", account: "other") == "of another account")
        let long = String(repeating: "x", count: 8193)
        let cut = try #require(throws: AuthError.self) {
            _ = try keyring("store", "--label=My shop", account: "long", value: long)
        }
        try #require(cut.message.contains("too long"))
        try Data().write(to: folder.appending(path: "locked"))
        for action in [["store", "--label=My shop"], ["lookup"], ["clear"]] {
            let error = try #require(throws: AuthError.self) {
                switch action[0] {
                case "store": _ = try keyring("store", "--label=My shop", account: "api", value: "x")
                case "lookup": _ = try keyring("lookup", account: "other")
                default: _ = try keyring("clear", account: "other")
                }
            }
            try #require(error.code == .store && error.message.contains("the keyring is locked"))
        }
    }
}

func keyring(_ action: String..., account: String, value: String = "") throws -> String? {
    let (process, input, output, errors) = (Process(), Pipe(), Pipe(), Pipe())
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["secret-tool"] + action + ["service", "MoltinKeychainService", "account", account]
    (process.standardInput, process.standardOutput, process.standardError) = (input, output, errors)
    // Before the start: a program that ends without reading would end this one too (SIGPIPE).
    try input.fileHandleForWriting.write(contentsOf: Data(value.utf8))
    try input.fileHandleForWriting.close()
    try process.run()
    let text = try output.fileHandleForReading.readToEnd() ?? Data()
    let reason = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    // A value that is too long is cut, which only the reason says. If there is no such string, there is no reason.
    let (status, isStore) = (process.terminationStatus, action[0] == "store")
    guard status == 0 ? !isStore || reason.isEmpty : !isStore && reason.isEmpty else {
        throw AuthError(.store, .store, "secret-tool ended with \(status): \(reason)")
    }
    return status == 0 ? String(decoding: text, as: UTF8.self) : nil
}
