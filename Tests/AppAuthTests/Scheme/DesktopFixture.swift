import AppAuth
import CShims
import Foundation
import Testing

/// The folders of a user's session, of a test's own.
final class DesktopFixture: Sendable {
    static let uri = "de.7pass.example:/cb/authz"
    static let entryName = "appauth-redirect-de.7pass.example.desktop"
    static let type = "x-scheme-handler/de.7pass.example"

    let root: String
    let folders: DesktopFolders

    init() throws {
        var template = Array("/tmp/appauth-scheme-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        root = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        folders = try DesktopFolders([
            "XDG_RUNTIME_DIR": root + "/run", "XDG_DATA_HOME": root + "/data", "XDG_CONFIG_HOME": root + "/config",
        ])
        mkdir(folders.runtime, 0o700)
    }

    deinit { try? FileManager.default.removeItem(atPath: root) }

    var entryPath: String { "\(folders.data)/applications/\(Self.entryName)" }
    var listPath: String { folders.configuration + "/mimeapps.list" }
    var entry: String? { Self.text(entryPath) }
    var list: String? { Self.text(listPath) }

    /// The sockets that there are; the lock, which stays, is none.
    var sockets: [String] {
        let folder = folders.runtime + "/appauth"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { !$0.hasSuffix(".lock") }.map { "\(folder)/\($0)" }
    }

    /// Whether nothing is left of any wait.
    var isClear: Bool { sockets.isEmpty && entry == nil }

    func write(_ text: String, to path: String) throws {
        let file = URL(fileURLWithPath: path)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
    }

    /// Writes the desktop entry of another app that handles the scheme.
    func addApp(_ name: String) throws {
        try write(
            "[Desktop Entry]\nType=Application\nName=Other\nExec=/bin/true %u\nMimeType=\(Self.type);\n",
            to: "\(folders.data)/applications/\(name)")
    }

    /// The handler of the scheme by xdg-mime.
    func handler() async throws -> String {
        let session = [
            "XDG_DATA_HOME=" + folders.data, "XDG_CONFIG_HOME=" + folders.configuration, "XDG_DATA_DIRS=/nowhere",
            "XDG_CONFIG_DIRS=/nowhere", "PATH=/usr/bin:/bin",
        ]
        return try await onThread {
            let response = try run(
                "env", "-i", session[0], session[1], session[2], session[3], session[4], "xdg-mime", "query", "default",
                Self.type)
            return String(decoding: response, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        }
    }

    func listener(
        _ installation: PrivateUseRedirect.Installation = .byPackage, uri: String = DesktopFixture.uri,
        patience: Duration = .seconds(5)
    ) async throws -> PrivateUseRedirectListener {
        var limits = ListenerLimits()
        (limits.requestTime, limits.farewellTime) = (patience, .seconds(600))
        return try await PrivateUseRedirectListener(Self.redirect(installation, uri: uri), folders, limits: limits)
    }

    static func redirect(
        _ installation: PrivateUseRedirect.Installation = .byPackage, uri: String = DesktopFixture.uri,
        program: String = "/bin/true", arguments: [String] = ["--redirect"]
    ) throws -> PrivateUseRedirect {
        try PrivateUseRedirect(
            uri, appName: "Harbour", arguments: arguments, program: program, installation: installation)
    }

    /// Hands a URL over, as the started helper does, and returns whether it was taken.
    func deliver(_ url: String) async throws -> Bool {
        let folders = folders
        return try await onThread {
            do { try RedirectDelivery.send(url, folders) } catch let error as AuthError where error.code == .listener {
                return false
            }
            return true
        }
    }

    private static func text(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }
}

extension PrivateUseRedirectListener {
    /// Waits for a redirect with this state and returns its whole query.
    func redirect(state: String) async throws -> String {
        try await redirect { query in query.split(separator: "&").contains("state=\(state)") ? query : nil }
    }
}

/// A client of a socket that sends byte by byte.
final class SocketClient: Sendable {
    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = shims_connect_to(path, 10_000)
        if descriptor < 0 { throw POSIXError(.init(rawValue: -descriptor) ?? .EIO) }
    }

    deinit { close(descriptor) }

    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    func endSending() { shims_end_sending(descriptor) }

    /// The response, up to the end of the connection; nil if that does not come within 10 s.
    func response() -> String? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count < 0, errno == EAGAIN { return nil }
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += buffer[..<count]
        }
    }
}
