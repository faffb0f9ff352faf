public import Logging

/// The dependencies of the protocol: HTTP, the clock and the log. Apps use `.live`; tests create one with a transport or
/// a clock of their own. Other values are declared where they are used: keys with the client, the server's dialect with
/// the token requests.
public struct Environment: Sendable {
    /// The HTTP client.
    public var transport: any HTTPTransport
    /// Returns the current time by the machine's clocks.
    public var now: @Sendable () -> Timestamp
    /// Waits for a duration: between two polls, and before a rejected write is tried again. It throws
    /// `CancellationError` at once if its task is cancelled. Tests can replace it.
    public var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// Waits for a duration in which the machine does not sleep.
    package var sleepAwake: @Sendable (Duration) async throws -> Void = {
        try await Task.sleep(for: $0, clock: .suspending)
    }
    /// Returns a number between 0 and 1, for pauses that differ among the clients of a server.
    package var jitter: @Sendable () -> Double = { .random(in: 0...1) }
    /// The logger for each step. It receives no secrets, and writes nothing unless the app sets it.
    public var logger: Logger
    /// The clocks of the servers that have responded.
    package let serverClocks = ServerClocks()
    private var values: [ObjectIdentifier: any Sendable] = [:]

    /// Creates an environment.
    public init(
        transport: any HTTPTransport, now: @escaping @Sendable () -> Timestamp = { .current }, logger: Logger = .silent
    ) {
        (self.transport, self.now, self.logger) = (transport, now, logger)
    }

    /// A value that a higher layer declares with an ``EnvironmentKey``.
    package subscript<Key: EnvironmentKey>(key: Key.Type) -> Key.Value {
        get { values[ObjectIdentifier(key)] as? Key.Value ?? Key.defaultValue }
        set { values[ObjectIdentifier(key)] = newValue }
    }
}

/// Declares a value of the ``Environment`` where it is used, so that the environment need not know it.
package protocol EnvironmentKey {
    associatedtype Value: Sendable

    /// The value unless the app sets another.
    static var defaultValue: Value { get }
}

extension Logger {
    /// A logger that writes nothing.
    public static let silent = Logger(label: "appauth") { _ in SwiftLogNoOpLogHandler() }
}
