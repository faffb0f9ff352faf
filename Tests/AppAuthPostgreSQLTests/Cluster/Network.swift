import Foundation
import Testing

/// A network of machines, each of which is a network namespace with a cable to a switch: a bridge in another namespace.
/// Nothing leaves it.
///
/// The namespaces of the switch and of each machine last as long as their shell, which ends with the tests, even if they
/// are killed: then the shell's input ends.
final class Network: Sendable {
    /// Whether namespaces can be made here.
    static let isPossible =
        (try? Program.run(
            "/usr/bin/unshare",
            [
                "--net", "--mount", "/bin/sh", "-c",
                "ip link add hub type bridge && ip link add cable type veth && mount -t tmpfs tmpfs /mnt",
            ],
            environment: environment)) != nil
    static let reason: Comment = "needs root, iproute2, and namespaces for networks and mounts"

    fileprivate static let environment = ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]

    fileprivate let hub: Program
    /// The folder in which each machine has a disk of its own.
    let disk = NSTemporaryDirectory() + "appauth-disk-\(UUID().uuidString)"

    init() async throws {
        try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: false)
        hub = try await Self.shell("ip link add hub type bridge && ip link set hub up", then: "rmdir \(disk)")
    }

    deinit { rmdir(disk) }

    /// Connects a machine.
    ///
    /// - Parameter number: Its number in the network, from 1.
    func machine(_ number: Int) async throws -> Machine {
        let address = "192.0.2.\(number)"  // RFC 5737
        let shell = try await Self.shell(
            """
            ip link add cable type veth peer name port\(number) netns \(hub.id) && ip link set lo up &&
            ip address add \(address)/24 dev cable && ip link set cable up && mount -t tmpfs tmpfs \(disk)
            """)
        let machine = Machine(address: address, network: self, shell: shell, port: "port\(number)")
        try machine.connect()
        return machine
    }

    /// - Parameter end: What the shell does when its input has ended.
    private static func shell(_ script: String, then end: String = ":") async throws -> Program {
        let shell = try Program(
            "/usr/bin/unshare",
            ["--net", "--mount", "/bin/sh", "-c", "\(script) && echo ready && { cat; \(end); }"],
            environment: environment)
        _ = try await shell.line { $0 == "ready" }
        return shell
    }
}

/// A machine in a ``Network``.
struct Machine: Sendable {
    let address: String
    fileprivate let network: Network
    fileprivate let shell: Program
    /// The end of its cable.
    fileprivate let port: String

    /// The folder of its disk.
    var disk: String { network.disk }

    /// The prefix of a command that runs on this machine.
    var prefix: [String] {
        ["/usr/bin/nsenter", "--net=\(networkNamespace)", "--mount=/proc/\(shell.id)/ns/mnt"]
    }

    var networkNamespace: String { "/proc/\(shell.id)/ns/net" }

    /// Starts the program of these tests here.
    func session(_ arguments: [String]) throws -> Program {
        try Program("/usr/bin/nsenter", ["--net=\(networkNamespace)", Program.session] + arguments)
    }

    /// Runs a command here to its end.
    func run(_ command: String...) throws {
        _ = try Program.run(prefix[0], prefix.dropFirst() + command, environment: Network.environment)
    }

    func resizeDisk(_ megabytes: Int) throws { try run("mount", "-o", "remount,size=\(megabytes)m", disk) }

    func connect() throws { try plug(["master", "hub"]) }

    /// Takes the machine off the network. It is not told: its cable stays up, and its packets go nowhere.
    func disconnect() throws { try plug(["nomaster"]) }

    private func plug(_ place: [String]) throws {
        _ = try Program.run(
            "/usr/bin/nsenter",
            ["--net=/proc/\(network.hub.id)/ns/net", "ip", "link", "set", port] + place + ["up"],
            environment: Network.environment)
    }
}
