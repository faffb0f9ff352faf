import FoundationEssentials
import Glibc
import Testing

/// A program that writes down how it was started, into a pipe that a test reads.
final class RecordingBrowser: Sendable {
    let folder: String
    var script: String { folder + "/browser" }
    var pipe: String { folder + "/pipe" }
    /// How it is started. By name of its shell: a file that was just written cannot always be executed, since another
    /// thread's child may still have it open for writing.
    var command: String { "/bin/sh \(script)" }
    /// Opened once, and for writing too, so that each start finds the same reader. Otherwise a process that is just being
    /// started by another thread could hold a copy of an earlier reader, and what is written for that one would be lost.
    private let reader: CInt

    init(script: String? = nil) throws {
        folder = FileManager.default.temporaryDirectory.path + "/browser-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try #require(mkfifo(folder + "/pipe", 0o600) == 0)
        // Each argument on a line of its own; then the process itself, before the pipe is opened.
        let record = """
            arguments=$(printf '<%s>\\n' "$@")
            files=$(for f in /proc/$$/fd/*; do printf '%s ' "${f##*/}"; readlink "$f"; done)
            state=$(cat /proc/$$/stat; grep -E '^Sig(Blk|Ign):' /proc/$$/status)
            exec > '\(folder)/pipe'
            printf '%s\\n--\\n%s\\n--\\n%s\\n--\\n' "$arguments" "$files" "$state"
            """
        // A test's own script has the pipe for itself.
        reader = script == nil ? open(folder + "/pipe", O_RDWR | O_CLOEXEC) : -1
        try Data((script ?? record).utf8).write(to: URL(filePath: folder + "/browser"))
    }

    deinit {
        if reader >= 0 { close(reader) }
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// The program's record.
    func record() async throws -> Record {
        let text = try await onThread { [reader] in
            var (all, buffer): ([UInt8], [UInt8]) = ([], Array(repeating: 0, count: 4096))
            while true {
                let text = String(decoding: all, as: UTF8.self)
                if text.split(separator: "\n--\n", omittingEmptySubsequences: false).count == 4 { return text }
                let count = read(reader, &buffer, buffer.count)
                guard count > 0 else { return text }
                all += buffer[..<count]
            }
        }
        return try Record(text)
    }

    struct Record {
        let arguments: [String]
        let files: [Int: String]
        let process: Int
        let session: Int
        let blocked: UInt64
        /// A bit for each signal; without 32 and 33, which belong to glibc.
        let ignored: UInt64

        init(_ text: String) throws {
            let parts = text.split(separator: "\n--\n").map { $0.split(separator: "\n").map(String.init) }
            try #require(parts.count == 3)
            arguments = parts[0].map { String($0.dropFirst().dropLast()) }
            files = parts[1].reduce(into: [:]) { files, line in
                let words = line.split(separator: " ", maxSplits: 1)
                if words.count == 2, let number = Int(words[0]) { files[number] = String(words[1]) }
            }
            let status = parts[2][0].split(separator: " ")
            process = try #require(Int(status[0]))
            session = try #require(Int(status[5]))
            blocked = try Self.mask(parts[2], "SigBlk:\t")
            ignored = try Self.mask(parts[2], "SigIgn:\t") & ~0x1_8000_0000
        }

        private static func mask(_ lines: [String], _ name: String) throws -> UInt64 {
            let line = try #require(lines.first { $0.hasPrefix(name) })
            return try #require(UInt64(line.dropFirst(name.count), radix: 16))
        }
    }
}
