import Foundation

/// A session of WebDriver BiDi (W3C): commands to a browser, and its events.
///
/// Nothing here waits for longer than ``patience``.
actor BiDiSession {
    /// An event that the browser reported.
    struct Event: Decodable, Sendable {
        let method: String
        let params: Parameters

        struct Parameters: Decodable, Sendable {
            /// The tab.
            let context: String?
            /// Of a page that was loaded.
            let url: String?
            /// Of an entry of the console.
            let level: String?
            let text: String?
            let source: Source?
            /// Of a request.
            let request: Request?
            let isBlocked: Bool?
        }
        struct Source: Decodable, Sendable {
            let context: String?
        }
        struct Request: Decodable, Sendable {
            let request: String
            let url: String
        }

        var tab: String? { params.context ?? params.source?.context }
    }

    /// A command that the browser did not carry out.
    struct Refusal: Error, CustomStringConvertible {
        let command: String
        let error: String
        let message: String

        var description: String { "\(command): \(error): \(message)" }
    }

    private struct Watch {
        let matches: @Sendable (Event) -> Bool
        let continuation: CheckedContinuation<Event, any Error>
    }

    private struct Response: Decodable {
        let id: Int?
        let type: String
        let error: String?
        let message: String?
    }

    private let socket: WebSocket
    private var next = 0
    private var commands: [Int: (name: String, continuation: CheckedContinuation<Data, any Error>)] = [:]
    private var watches: [Int: Watch] = [:]
    private var hasEnded = false
    /// All events that the browser has reported so far.
    private(set) var events: [Event] = []

    static let patience = Duration.seconds(20)

    /// Begins a session at a browser that waits for one.
    init(port: Int, capabilities: Data) async throws {
        socket = try await WebSocket(port: port, path: "/session")
        Task {
            for await message in socket.messages { receive(Data(message.utf8)) }
            end()
        }
        _ = try await send(
            "session.new", #"{"capabilities":{"alwaysMatch":\#(String(decoding: capabilities, as: UTF8.self))}}"#)
    }

    /// Ends the browser.
    func close() async {
        _ = try? await send("browser.close", "{}")
        await socket.close()
    }

    /// Has the browser do something, and returns its response.
    @discardableResult
    func command<Result: Decodable>(
        _ method: String, _ parameters: [String: any Sendable] = [:], as: Result.Type = Nothing.self
    ) async throws -> Result {
        let parameters = try JSONSerialization.data(withJSONObject: parameters)
        let response = try await send(method, String(decoding: parameters, as: UTF8.self))
        return try JSONDecoder().decode(Success<Result>.self, from: response).result
    }

    private struct Success<Result: Decodable>: Decodable {
        let result: Result
    }

    /// The response to commands that give none.
    struct Nothing: Decodable {}

    /// The first event after so many that is one of those; of the past, if there is one.
    func event(
        after count: Int, within patience: Duration = patience, where matches: @escaping @Sendable (Event) -> Bool
    ) async throws -> Event {
        if let event = events.dropFirst(count).first(where: matches) { return event }
        next += 1
        let id = next
        let expiry = expiry(patience) { session in
            let failure = SetupFailure("The browser did not report the awaited event, but: \(await session.said)")
            await session.watched(id)?.resume(throwing: failure)
        }
        defer { expiry.cancel() }
        return try await withCheckedThrowingContinuation { continuation in
            guard !hasEnded else { return continuation.resume(throwing: Self.gone) }
            watches[id] = Watch(matches: matches, continuation: continuation)
        }
    }

    private var said: String { events.suffix(8).map { "\($0.method) \($0.params.url ?? "")" }.joined(separator: ", ") }

    // MARK: The wire

    private static let gone = SetupFailure("The browser is gone.")

    private func send(_ method: String, _ parameters: String) async throws -> Data {
        next += 1
        let id = next
        let expiry = expiry(Self.patience) {
            await $0.commanded(id)?.resume(throwing: SetupFailure("\(method) got no response."))
        }
        defer { expiry.cancel() }
        let message = #"{"id":\#(id),"method":"\#(method)","params":\#(parameters)}"#
        return try await withCheckedThrowingContinuation { continuation in
            guard !hasEnded else { return continuation.resume(throwing: Self.gone) }
            commands[id] = (method, continuation)
            Task {
                do { try await socket.send(message) } catch { commanded(id)?.resume(throwing: error) }
            }
        }
    }

    private func expiry(
        _ patience: Duration, _ body: @escaping @Sendable (BiDiSession) async -> Void
    ) -> Task<Void, any Error> {
        Task {
            try await Task.sleep(for: patience)
            await body(self)
        }
    }

    private func commanded(_ id: Int) -> CheckedContinuation<Data, any Error>? {
        commands.removeValue(forKey: id)?.continuation
    }

    private func watched(_ id: Int) -> CheckedContinuation<Event, any Error>? {
        watches.removeValue(forKey: id)?.continuation
    }

    private func receive(_ message: Data) {
        guard let response = try? JSONDecoder().decode(Response.self, from: message) else { return }
        if let id = response.id, let (name, continuation) = commands.removeValue(forKey: id) {
            if response.type == "success" { return continuation.resume(returning: message) }
            let refusal = Refusal(command: name, error: response.error ?? "", message: response.message ?? "")
            return continuation.resume(throwing: refusal)
        }
        guard response.type == "event", let event = try? JSONDecoder().decode(Event.self, from: message) else { return }
        events.append(event)
        for (id, watch) in watches where watch.matches(event) { watched(id)?.resume(returning: event) }
    }

    private func end() {
        hasEnded = true
        for command in commands.values { command.continuation.resume(throwing: Self.gone) }
        for watch in watches.values { watch.continuation.resume(throwing: Self.gone) }
        (commands, watches) = ([:], [:])
    }
}
