import Foundation
import Glibc
import Testing

/// A TPM in software (swtpm) with a resource manager (tpm2-abrmd), so that several processes can use it as they use a
/// machine's `/dev/tpmrm0`.
package final class SoftwareTPM: Sendable {
    /// Whether the programs are installed.
    package static let isInstalled = programs.allSatisfy(FileManager.default.isExecutableFile) && !modules.isEmpty
    package static let packages = "tpm2-openssl, tpm2-tools, swtpm or tpm2-abrmd is not installed"

    private static let programs = [
        "/usr/bin/swtpm", "/usr/sbin/tpm2-abrmd", "/usr/bin/tpm2_getcap", "/usr/bin/dbus-daemon", "/usr/bin/gdbus",
    ]
    private static let modules =
        (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib"))?
        .map { "/usr/lib/\($0)/ossl-modules/tpm2.so" }.filter(FileManager.default.fileExists) ?? []

    /// The variables with which a process finds this TPM. It needs no others of these names.
    package let environment: [String: String]
    private let folder: URL

    package init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("tpm.\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        environment = [
            "DBUS_SESSION_BUS_ADDRESS": "unix:path=\(folder.path)/bus", "TPM2OPENSSL_TCTI": "tabrmd:bus_type=session",
            "TPM2TOOLS_TCTI": "tabrmd:bus_type=session", "TSS2_LOG": "all+none",
        ]
        do { try startPrograms() } catch {
            stop()
            throw error
        }
    }

    private func startPrograms() throws {
        try run(
            "sh", "-ec",
            """
            cd \(folder.path)
            # Not `dir=.`: the daemon leaves this folder, and two that write their states to one file fail (0x101).
            swtpm socket --tpm2 --tpmstate dir=\(folder.path) --flags not-need-init,startup-clear --server type=unixio,path=tpm \\
                --ctrl type=unixio,path=tpm.ctrl --daemon --pid file=tpm.pid
            dbus-daemon --session --fork --address=unix:path=bus --print-pid=3 3>bus.pid
            tpm2-abrmd --session --allow-root --tcti=swtpm:path=tpm &
            echo $! >manager.pid
            for second in $(seq 60); do
                kill -0 $!
                # The manager has its name on the bus before it can be called.
                if gdbus wait --session --timeout=1 com.intel.tss2.Tabrmd && tpm2_getcap properties-fixed; then exit 0; fi
            done
            exit 1
            """)
    }

    /// Runs the body of an exit test with a TPM that this process uses. Records an error: one that ends the process would not
    /// be printed.
    package static func use(_ body: (SoftwareTPM) async throws -> Void) async {
        do {
            let tpm = try SoftwareTPM()
            defer { tpm.stop() }
            for (name, value) in tpm.environment { setenv(name, value, 1) }
            try await body(tpm)
        } catch { Issue.record(error) }
    }

    /// Ends the TPM. A test calls this, and does not leave it to the end of the last reference.
    package func stop() {
        for name in ["manager", "bus", "tpm"] {
            let text = try? String(contentsOf: folder.appendingPathComponent("\(name).pid"), encoding: .utf8)
            if let id = text.flatMap({ pid_t($0.filter(\.isNumber)) }) { kill(id, SIGKILL) }
        }
        try? FileManager.default.removeItem(at: folder)
    }

    /// Makes keys at handles of this TPM, with a PIN unless it is empty, and their public parts in files named after the handles.
    package func makeKeys(_ keys: [(handle: String, pin: String)], in folder: String) throws {
        for (handle, pin) in keys {
            try run(
                "sh", "-ec",
                """
                cd \(folder)
                tpm2_createprimary -Q -G ecc -c primary
                tpm2_create -Q -C primary -G ecc -p "\(pin)" -u public -r private
                tpm2_load -Q -C primary -u public -r private -c key
                tpm2_evictcontrol -Q -c key \(handle)
                tpm2_readpublic -Q -c \(handle) -f pem -o \(handle).pem
                tpm2_flushcontext -t
                """)
        }
    }

    /// How many wrong PINs count against the limit, as `0x1`.
    package func wrongPINs() throws -> String {
        let line = try run("tpm2_getcap", "properties-variable").split(separator: "\n")
            .first { $0.contains("LOCKOUT_COUNTER") }
        return line?.suffix(3).description ?? ""
    }

    /// Runs a program with this TPM, and returns its output. Not a `Process`, which waits for the programs that this one
    /// leaves behind.
    @discardableResult
    package func run(_ arguments: String...) throws -> String {
        let output = folder.appendingPathComponent("output.\(UUID().uuidString)").path
        var files = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&files)
        defer { posix_spawn_file_actions_destroy(&files) }
        posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, output, O_WRONLY | O_CREAT, 0o600)
        posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO)
        let all = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let words = arguments.map { strdup($0) } + [nil]
        let variables = all.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for copy in words + variables { free(copy) } }
        var (id, status): (pid_t, CInt) = (0, -1)
        if posix_spawnp(&id, arguments[0], &files, nil, words, variables) == 0 { waitpid(id, &status, 0) }
        // Foundation's reader of whole files leaks its buffer if the file is empty.
        let bytes = try? FileHandle(forReadingFrom: URL(filePath: output)).readToEnd()
        let text = String(decoding: (bytes ?? nil) ?? Data(), as: UTF8.self)
        guard status == 0 else {
            throw CocoaError(.executableLoad, userInfo: ["command": arguments, "output": text])
        }
        return text
    }
}
