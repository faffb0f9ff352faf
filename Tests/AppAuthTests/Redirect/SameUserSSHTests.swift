import Foundation
import Testing

/// The same-user check with a browser on another machine, through `ssh -L`: a real sshd starts the program, and the browser
/// comes from a network namespace that only SSH connects with the program's.
@Suite(.timeLimit(.minutes(5)))
struct SameUserSSHTests {
    private static let sshd = "/usr/sbin/sshd"
    private static let isPossible =
        geteuid() == 0 && access(sshd, X_OK) == 0
        && (try? run("unshare", "--mount", "--net", "sh", "-c", "ip link set lo up && mount -t tmpfs none /mnt")) != nil

    @Test(
        .enabled(if: isPossible, "needs root, openssh-server and namespaces"), arguments: ["automatic", "required"])
    func `the user's forwarded browser is served, and another user's is not`(check: String) async throws {
        let (mallory, alice, result) = try await onThread {
            let machine = try SSHMachine(sshd: Self.sshd)
            defer { machine.remove() }
            let listener = try ListenerProcess(by: machine.ssh("alice"), check)
            let mallory = try machine.firstLine(by: "mallory", of: listener)
            let alice = try machine.firstLine(by: "alice", of: listener)
            // It waits for a redirect if it has served none.
            return (mallory, alice, alice.contains("303") ? try listener.result() : nil)
        }
        #expect(mallory == "connected ")
        #expect(alice == "connected HTTP/1.1 303 See Other")
        #expect(result?.parameters == "state=right" && result?.ignored == 1)
    }
}

/// A machine with sshd and two users. SSH reaches it by a pipe, from any network.
private struct SSHMachine {
    private let folder: URL
    private var client: [String] { ["ssh", "-F", folder.appending(path: "client").path] }

    init(sshd: String) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "ssh-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let path = folder.path
        for key in ["host", "user"] {
            try run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "\(path)/\(key)")
        }
        try write(
            """
            root:x:0:0::/root:/bin/bash
            sshd:x:100:65534::/run/sshd:/usr/sbin/nologin
            alice:x:61000:61000::/:/bin/bash
            mallory:x:61001:61001::/:/bin/bash
            """, to: "passwd")
        try write(
            """
            HostKey \(path)/host
            AuthorizedKeysFile \(path)/user.pub
            StrictModes no
            UsePAM no
            PidFile none
            """, to: "server")
        // The users exist only for sshd.
        try write(
            """
            mount -t tmpfs none /run && mkdir -m 0755 /run/sshd && mount --bind \(path)/passwd /etc/passwd &&
            exec \(sshd) -i -e -f \(path)/server 2> /dev/null
            """, to: "serve")
        try write(
            """
            ProxyCommand nsenter --net=/proc/${MACHINE:-self}/ns/net unshare --mount bash \(path)/serve
            IdentityFile \(path)/user
            IdentitiesOnly yes
            StrictHostKeyChecking no
            UserKnownHostsFile /dev/null
            LogLevel ERROR
            ExitOnForwardFailure yes
            ControlPath \(path)/%r
            """, to: "client")
    }

    private func write(_ text: String, to name: String) throws {
        try Data((text + "\n").utf8).write(to: folder.appending(path: name))
    }

    func remove() { try? FileManager.default.removeItem(at: folder) }

    /// Starts a program as a user of the machine.
    ///
    /// The shell keeps the descriptors that ssh closes, and by which Foundation sees the end of a process. It also quotes
    /// the program and its arguments for the shell on the machine.
    func ssh(_ user: String) -> [String] {
        let command = client + ["\(user)@machine"]
        let count = command.count
        return ["bash", "-c", "\"${@:1:\(count)}\" \"$(printf '%q ' \"${@:\(count + 1)}\")\"; exit", "bash"] + command
    }

    /// Returns "connected", and the first line that a browser on another machine gets from a listener through a user's
    /// `ssh -L`.
    func firstLine(by user: String, of listener: ListenerProcess) throws -> String {
        // The machine's network is that of the outer shell.
        let machine = #"MACHINE=$$ unshare --net bash -c "$0" "$@"; exit"#
        let script = """
            trap '' PIPE
            port=$0 user=$1
            shift
            ip link set lo up
            "$@" -M -N -f -L "$port:127.0.0.1:$port" "$user@machine" > /dev/null 2>&1 < /dev/null || exit
            exec 3<>"/dev/tcp/127.0.0.1/$port"
            printf 'GET /callback?state=right HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n' "127.0.0.1:$port" >&3
            IFS= read -r line <&3
            printf 'connected %s' "$line"
            "$@" -O exit "$user@machine" 2> /dev/null
            """
        let port = listener.redirectURI.split(separator: ":").last?.prefix { $0 != "/" } ?? ""
        let line = try run("bash", ["-c", machine, script, String(port), user] + client)
        return String(decoding: line, as: UTF8.self).filter { $0 != "\r" }
    }
}
