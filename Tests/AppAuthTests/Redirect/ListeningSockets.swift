import Foundation

/// The sockets that listen at a port, identified by their inodes: a port that is given back may be another test's at once.
struct ListeningSockets: Equatable {
    private let port: UInt16
    private let inodes: Set<Substring>

    init(at port: UInt16) throws {
        self.port = port
        inodes = try Self.inodes(at: port)
    }

    /// Whether there were any, and all of them are gone.
    var areClosed: Bool {
        get throws { try !inodes.isEmpty && Self.inodes(at: port).isDisjoint(with: inodes) }
    }

    /// proc(5): the local address is the second column of a line, the state the fourth (0A listens), the inode the tenth.
    private static func inodes(at port: UInt16) throws -> Set<Substring> {
        let end = String(format: ":%04X", port)
        var inodes: Set<Substring> = []
        for table in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
            guard let file = FileHandle(forReadingAtPath: table), let data = try file.readToEnd() else { continue }
            for line in String(decoding: data, as: UTF8.self).split(separator: "\n").dropFirst() {
                let columns = line.split(separator: " ")
                if columns.count > 9, columns[1].hasSuffix(end), columns[3] == "0A" { inodes.insert(columns[9]) }
            }
        }
        return inodes
    }
}
