internal import AppAuthConcurrency
package import Logging

/// A log handler that keeps every line, at trace level.
package final class LogCapture: Sendable {
    private let captured = LockedValue<[String]>([])

    package init() {}

    package var lines: [String] { captured.withLock { $0 } }

    package var logger: Logger {
        var logger = Logger(label: "test") { _ in Handler(capture: self) }
        logger.logLevel = .trace
        return logger
    }

    private struct Handler: LogHandler {
        let capture: LogCapture
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level = .trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let line =
                "\(event.level) \(event.message) \(metadata) \(event.metadata ?? [:]) \(String(describing: event.error))"
            capture.captured.withLock { $0.append(line) }
        }
    }
}
