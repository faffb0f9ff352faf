internal import AppAuth
internal import AppAuthProtocol

/// The names of hosts(5).
enum HostsFile {
    /// Returns the addresses of this machine alone that a name has, for example `127.0.1.1` for the machine's own name.
    static func loopbackAddresses(of name: String) -> [String] {
        let bytes = (try? InputFile.read("/etc/hosts", atMost: 1 << 20)) ?? []
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap { line in
            let words = line.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace).map { $0.lowercased() }
            guard let address = words.first, words.dropFirst().contains(name) else { return nil }
            let host = address.contains(":") ? "[\(address)]" : address
            return (try? SecureURL("https://\(host)"))?.isThisMachine == true ? address : nil
        }
    }
}
