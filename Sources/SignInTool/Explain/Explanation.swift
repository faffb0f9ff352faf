internal import AppAuth
internal import AppAuthConcurrency
internal import HTTPTypes
internal import JOSE
internal import Logging

/// The explanation of a command for `--explain`: each request and response, and each step of a flow, on standard error as it
/// happens. It shows secrets only by their kind and length.
struct Explanation: Sendable {
    /// The time of the latest line. A step that is logged has taken the time since then.
    private static let latest = LockedValue(ContinuousClock.now)

    private func say(_ line: String) {
        Console.write("\(line.onOneLine)\n", to: .error)
        Self.latest.withLock { $0 = .now }
    }

    /// Says what another party may have chosen.
    private func say(_ mark: String, _ text: String) { say(mark + text.withSingleBlanks) }

    /// Explains a step of an exchange with a server.
    func show(_ exchange: ObservedExchange) {
        let hidden = HiddenValues(in: exchange.request)
        switch exchange.step {
        case .sending:
            show(ExplainedStep(exchange), named: exchange.stage.rawValue)
            say("  > ", "\(exchange.request.head.method) \(hidden.url(exchange.request.head))")
            for line in hidden.fields(exchange.request.head.headerFields, ofRequest: true) { say("  > ", line) }
            for line in hidden.body(exchange.request) { say("  >   ", line) }
        case .received(let response, let time):
            let origin = "\(exchange.request.head.method) \(hidden.url(exchange.request.head))"
            let size = response.stream == nil ? "\(response.body.count) bytes" : "a body that follows"
            say("  < ", "\(response.status.code) for \(origin): \(size), after \(time.inMilliseconds)")
            for line in hidden.fields(response.headerFields, ofRequest: false) { say("  < ", line) }
            for line in hidden.body(response, of: exchange.stage) { say("  <   ", line) }
            if response.status.kind == .successful { sayChecks(of: ExplainedStep(exchange)) }
        // The log says why.
        case .failed(let time): say("  < no response, after \(time.inMilliseconds)")
        }
    }

    /// Explains the request that the browser carries to the provider.
    func show(_ request: AuthorizationRequest) {
        let isPushed = request.options.isPushed || request.client.provider.requiresPushedAuthorizationRequests
        show(isPushed ? .pushedRequest : .authorizationRequest, named: "authorization")
        let hidden = HiddenValues()
        for item in request.parameters.items { say("  >   ", hidden.parameter(item.name, item.value)) }
    }

    /// Explains the request that the browser carries to the provider at a sign-out.
    func showEndSession() { show(.endSession, named: "logout") }

    /// Shows a step that the library or the command logs.
    func show(_ message: String, level: Logger.Level) {
        let name = message.prefix { $0 != ":" }
        let section = AuthError.Stage(rawValue: String(name)).flatMap(ExplainedStep.section)
        let time = Self.latest.withLock { $0.duration(to: .now) }.inMilliseconds
        let text = message.dropFirst(name.count).drop { ": ".contains($0) }
        let line = "\(level >= .notice ? "\(level): " : "")\(text)\(section.map { " (\($0)), after \(time)" } ?? "")"
        let mark = String(repeating: " ", count: name.count + 1) + "| "
        for line in line.withSingleBlanks.wrapped(after: "[\(name)] ", then: mark) { say(line) }
    }

    private func sayChecks(of step: ExplainedStep?) {
        for line in step?.checks?.wrapped(after: "  = ") ?? [] { say(line) }
    }

    private func show(_ step: ExplainedStep?, named name: String) {
        guard let step else { return }
        for line in "\(step.purpose) (\(step.section))".wrapped(after: "[\(name)] ") { say(line) }
    }
}

extension Duration {
    fileprivate var inMilliseconds: String { "\(Int((self / .milliseconds(1)).rounded())) ms" }
}

extension Environment {
    /// Explains each step from now on.
    mutating func explain() {
        let explanation = Explanation()
        self[ExchangeObserver.self] = ExchangeObserver { explanation.show($0) }
        logger = Logger(label: "sign-in") { _ in ExplanationLog(explanation: explanation) }
    }
}

/// A log handler that explains.
private struct ExplanationLog: LogHandler {
    let explanation: Explanation
    var metadata: Logger.Metadata = [:]
    /// The messages below are those about requests, which the observer of exchanges explains.
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { explanation.show(event.message.description, level: event.level) }
}
