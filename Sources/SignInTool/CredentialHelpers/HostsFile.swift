internal import AppAuth
internal import AppAuthProtocol
internal import Glibc

/// The names of hosts(5).
enum HostsFile {
    /// Returns the addresses of this machine alone that a name has, for example `127.0.1.1` for the machine's own name.
    ///
    /// - Throws: ``AuthError`` if the file is there and cannot be read. Lists of blocked hosts have megabytes.
    static func loopbackAddresses(of name: String) throws -> [String] {
        let bytes: [UInt8]
        do { bytes = try InputFile.read("/etc/hosts", atMost: 64 << 20) } catch {
            if case .system(ENOENT) = error { return [] }
            throw AuthError(.transport, .resource, "/etc/hosts: \(error.description)", outcome: .notSent)
        }
        // Not as characters: a carriage return and a newline are one, and a mark after a `#` makes another one of it.
        return bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
            let entry = String(decoding: line.prefix { $0 != UInt8(ascii: "#") }, as: UTF8.self)
            let words = entry.split(whereSeparator: \.isWhitespace).map { $0.lowercased() }
            // As Go, and so Docker, reads it: an address may have a zone, and a name a final dot.
            guard let address = words.first?.split(separator: "%").first,
                words.dropFirst().contains(where: { $0.withoutFinalDot == name.withoutFinalDot })
            else { return nil }
            let host = address.contains(":") ? "[\(address)]" : address
            return (try? SecureURL("https://\(host)"))?.isThisMachine == true ? String(address) : nil
        }
    }
}

extension String {
    fileprivate var withoutFinalDot: Substring { hasSuffix(".") ? dropLast() : self[...] }
}
