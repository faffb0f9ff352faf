import AppAuth
import Foundation
import JOSE
import AppAuthTestProvider
import ScriptedBrowser

/// The code that `sign-in device` shows, and the user who enters it in another browser.
struct DeviceCode: Sendable {
    let page: String
    let userCode: String
    let pageWithCode: String

    private static let transport = CurlTransport(.init(proxy: .none))

    /// Waits until a process shows its code, or another one than the former code.
    init(_ process: ChildProcess, after former: DeviceCode? = nil) async throws {
        let isFormer = { @Sendable (line: String) in former.map { line.contains($0.userCode) } ?? false }
        func shown(_ isWanted: @escaping @Sendable (String) -> Bool) async throws -> String {
            try await process.line { $0.hasPrefix("  ") && isWanted($0) && !isFormer($0) }.trimmingCharacters(
                in: .whitespaces)
        }
        page = try await shown { $0.hasSuffix("/device") }
        userCode = String(
            try await shown { $0.wholeMatch(of: /\s+Code: [A-Z]{4}-[A-Z]{4}/) != nil }.dropFirst("Code: ".count))
        pageWithCode = try await shown { $0.contains("user_code=") }
    }

    /// Types the code into the page, signs in as alice and decides. Returns the text of the last page.
    @discardableResult
    func decide(_ action: String) async throws -> String {
        var entries = [
            "username": "alice", "password": "looking-glass",
            "user_code": userCode.lowercased().replacing("-", with: ""),
        ]
        if action == "deny" { entries["action"] = "deny" }
        return try await ScriptedBrowser(transport: Self.transport, entries: entries).visit(page)
    }
}

extension CommandFixture {
    /// Starts `sign-in device` at the provider, with `--json`.
    func device(_ arguments: String..., client: String = "demo") throws -> ChildProcess {
        try start(["device", "--json", "--issuer", issuer, "--client-id", client] + arguments)
    }
}

extension LocalProvider.Configuration {
    /// The demo, for devices that poll every second.
    static var device: Self { device { _ in } }

    static func device(_ change: (inout Self) -> Void) -> Self {
        var configuration = demo
        configuration.devicePollingInterval = 1
        change(&configuration)
        return configuration
    }
}
