public import Logging

/// What the protocol takes from outside: HTTP, the clock, the server's ways, and where its log goes.
public struct Environment: Sendable {
    /// The HTTP client.
    public var transport: any HTTPTransport
    /// The current time, by the machine's clocks.
    public var now: @Sendable () -> Moment
    /// What the server says otherwise than the RFCs.
    public var dialect = Dialect.standard
    /// Where each step is logged, without secrets; silent unless an app sets it.
    public var logger: Logger

    /// Puts an environment together.
    public init(
        transport: any HTTPTransport, now: @escaping @Sendable () -> Moment = { .current }, logger: Logger = .silent
    ) {
        (self.transport, self.now, self.logger) = (transport, now, logger)
    }
}

extension Logger {
    /// A logger that writes nothing.
    public static let silent = Logger(label: "appauth") { _ in SwiftLogNoOpLogHandler() }
}
