/// A step of an HTTP exchange, for an observer that explains it.
package struct ObservedExchange: Sendable {
    /// What has happened.
    package enum Step: Sendable {
        case sending
        case received(TransportResponse, after: Duration)
        case failed(after: Duration)
    }

    /// The step of the flow to which the exchange belongs.
    package let stage: AuthError.Stage
    /// The request, with its secrets.
    package let request: TransportRequest
    package let step: Step

}

/// The observer of all exchanges of an environment. By default, it does nothing.
package struct ExchangeObserver: EnvironmentKey, Sendable {
    package static let defaultValue = ExchangeObserver { _ in }

    let observe: @Sendable (ObservedExchange) -> Void

    package init(_ observe: @escaping @Sendable (ObservedExchange) -> Void) { self.observe = observe }
}
