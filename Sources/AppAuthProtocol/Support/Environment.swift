public import Logging

/// What the protocol takes from outside: HTTP, the clock, and where its log goes. What else can be set is declared where it is used:
/// keys with the client, the server's dialect with the token requests.
public struct Environment: Sendable {
    /// The HTTP client.
    public var transport: any HTTPTransport
    /// The current time, by the machine's clocks.
    public var now: @Sendable () -> Timestamp
    /// Where each step is logged, without secrets; silent unless an app sets it.
    public var logger: Logger
    /// What time it is at the servers that have answered.
    package let serverClocks = ServerClocks()
    private var values: [ObjectIdentifier: any Sendable] = [:]

    /// Puts an environment together.
    public init(
        transport: any HTTPTransport, now: @escaping @Sendable () -> Timestamp = { .current }, logger: Logger = .silent
    ) {
        (self.transport, self.now, self.logger) = (transport, now, logger)
    }

    /// A value that a layer above declares with an ``EnvironmentKey``.
    package subscript<Key: EnvironmentKey>(key: Key.Type) -> Key.Value {
        get { values[ObjectIdentifier(key)] as? Key.Value ?? Key.defaultValue }
        set { values[ObjectIdentifier(key)] = newValue }
    }
}

/// Declares a value of the ``Environment`` where it is used, so that this one needs to know nothing of it.
package protocol EnvironmentKey {
    associatedtype Value: Sendable

    /// What it is unless an app sets it.
    static var defaultValue: Value { get }
}

extension Logger {
    /// A logger that writes nothing.
    public static let silent = Logger(label: "appauth") { _ in SwiftLogNoOpLogHandler() }
}
