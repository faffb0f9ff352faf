import Foundation
import JOSE

/// The reports of a test's scripted browsers, through a named pipe.
final class BrowserReports: Sendable {
    let path: String
    private let descriptor: CInt
    private let reports = Watched<[JSON]>([])

    init(folder: String) throws {
        path = folder + "/browser-reports"
        guard mkfifo(path, 0o600) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        // Opened for writing too, so that it never ends and opening it does not block.
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        self.descriptor = descriptor
        let reports = reports
        Thread.detachNewThread {
            defer { close(descriptor) }
            var rest: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65536)
            while true {
                let count = read(descriptor, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return }
                rest += buffer[..<count]
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    // An empty line marks the end: see `stop`.
                    guard end > 0 else { return }
                    if let report = try? JSON(parsing: Array(rest[..<end])) { reports.change { $0.append(report) } }
                    rest.removeFirst(end + 1)
                }
            }
        }
    }

    func stop() { _ = write(descriptor, "\n", 1) }

    var all: [JSON] { reports.value }

    /// The arguments of each browser that was started.
    var visits: [[String]] { all.compactMap { $0["arguments"]?.array?.compactMap(\.string) } }

    /// Waits until this many browsers have been started, and returns the arguments of the last one.
    func visit(_ count: Int = 1) async throws -> [String] {
        try await reports.wait { reports in
            let visits = reports.compactMap { $0["arguments"]?.array?.compactMap(\.string) }
            return visits.count >= count ? visits[count - 1] : nil
        }
    }

    /// Waits until this many browsers have reached their last page, and returns the text or error of the last one.
    func page(_ count: Int = 1) async throws -> String {
        try await reports.wait { reports in
            let pages = reports.compactMap { $0["page"]?.string ?? $0["error"]?.string }
            return pages.count >= count ? pages[count - 1] : nil
        }
    }
}
