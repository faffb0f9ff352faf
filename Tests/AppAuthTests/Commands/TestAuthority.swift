import Foundation
import TestFixtures

/// A certificate authority of its own, made by the `openssl` command in a folder that goes with it.
final class TestAuthority: Sendable {
    let directory: URL
    /// The authority's certificate, in PEM.
    var root: String { directory.appending(path: "ca.pem").path }

    init() throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "appauth-ca-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try run(
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
            "-subj", "/CN=Test CA \(UUID().uuidString)", "-keyout", "ca.key", "-out", "ca.pem", in: directory)
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    /// A certificate for names, for example `IP:127.0.0.1`, that ends so many days from now, or one that begins at a time. Returns
    /// its path without `.pem`; the key is beside it as `.key`.
    func issue(
        _ name: String, days: Int = 30, from start: String? = nil, key: String = "ec", subject: String = "server"
    ) throws -> String {
        let leaf = UUID().uuidString
        try Data("subjectAltName=\(name)\n".utf8).write(to: directory.appending(path: "\(leaf).ext"))
        try run(
            "openssl",
            ["req", "-newkey", key] + (key == "ec" ? ["-pkeyopt", "ec_paramgen_curve:P-256"] : [])
                + ["-nodes", "-subj", "/CN=\(subject)", "-keyout", "\(leaf).key", "-out", "\(leaf).csr"], in: directory)
        if let start {
            let policy = "[ca]\ndefault_ca=d\n[d]\ndatabase=\(leaf).db\nnew_certs_dir=.\nrand_serial=yes\n"
            try Data((policy + "default_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n").utf8).write(
                to: directory.appending(path: "\(leaf).cnf"))
            try Data().write(to: directory.appending(path: "\(leaf).db"))
            try run(
                "openssl", "ca", "-batch", "-notext", "-config", "\(leaf).cnf", "-cert", "ca.pem", "-keyfile", "ca.key",
                "-startdate", start, "-days", "36500", "-extfile", "\(leaf).ext", "-in", "\(leaf).csr",
                "-out", "\(leaf).pem", in: directory)
        } else {
            try run(
                "openssl", "x509", "-req", "-in", "\(leaf).csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                "-days", "\(days)", "-extfile", "\(leaf).ext", "-out", "\(leaf).pem", in: directory)
        }
        return directory.appending(path: leaf).path
    }
}

/// `openssl s_server` on a free port of 127.0.0.1, which responds to every GET with a page. Ends when it is released.
final class TLSServer: @unchecked Sendable {
    let port: UInt16
    private let process = Process()

    /// - Parameters:
    ///   - certificate: The result of ``TestAuthority/issue(_:days:)``.
    ///   - words: The command that starts it.
    init(_ certificate: String, _ options: String..., by words: [String] = []) throws {
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            words + ["openssl", "s_server", "-www", "-accept", "127.0.0.1:0", "-cert", "\(certificate).pem"]
            + ["-key", "\(certificate).key"] + options
        let output = Pipe.exclusive()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
        var text = ""
        while true {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { throw CommandFailure(command: "openssl s_server", output: text) }
            text += String(decoding: data, as: UTF8.self)
            // ACCEPT 127.0.0.1:12345
            let line = text.split(separator: "\n").first { $0.hasPrefix("ACCEPT ") }
            guard let line, text.hasSuffix("\n"), let port = line.split(separator: ":").last.flatMap({ UInt16($0) })
            else {
                continue
            }
            self.port = port
            break
        }
        output.fileHandleForReading.discardRest()
    }

    /// By the signal that no process can block: a child inherits the mask of the thread that started it.
    deinit { kill(process.processIdentifier, SIGKILL) }
}

extension FileHandle {
    /// Reads the rest of a program's output, or the program stops when the pipe is full.
    ///
    /// On a thread: a `readabilityHandler` that is removed while its pipe is closed can crash in libdispatch.
    func discardRest() { Thread.detachNewThread { while !self.availableData.isEmpty {} } }
}
