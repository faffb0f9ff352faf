/// A refresh request, on its way to the server and back.
final class SimulatedRequest {
    let number: Int
    let process: Int
    let refreshToken: String
    let kind: CallKind
    /// The refresh lock under which the request was sent.
    let lock: SimulatedStore.Lock?
    let sentAt: Int
    /// When the request reaches the server; nil if it never does.
    fileprivate(set) var processedAt: Int?
    /// When the client receives the response; nil if it never does.
    fileprivate(set) var answeredAt: Int?
    fileprivate(set) var response: SimulatedServer.Response?
    fileprivate var isProcessed = false
    /// Whether a proxy sends the request twice.
    fileprivate(set) var isDuplicated = false
    /// When the client gives up if no response comes: the connection broke, or could not be made.
    fileprivate(set) var breaksAt: Int
    fileprivate(set) var isUnsent = false
    /// Whether no client waits for the response any more.
    fileprivate(set) var isAbandoned = false
    /// Whether the client has taken the response.
    var isOver = false

    init(
        number: Int, process: Int, refreshToken: String, kind: CallKind, under lock: SimulatedStore.Lock?, at now: Int
    ) {
        (self.number, self.process, self.refreshToken, self.kind) = (number, process, refreshToken, kind)
        self.lock = lock
        (sentAt, processedAt, answeredAt, breaksAt) = (now, now + 40, now + 80, now + SimulatedWire.timeout)
    }

    /// When the client knows the outcome.
    var endsAt: Int { min(answeredAt ?? breaksAt, breaksAt) }
    var isAnswered: Bool { answeredAt.map { $0 <= breaksAt } ?? false }

    /// The rotated refresh token in the response.
    var successor: String? { if case .tokens(_, let refresh, _) = response { refresh } else { nil } }
}

/// The network between client and server, with its faults.
final class SimulatedWire {
    /// The client's timeout, in milliseconds.
    static let timeout = 30_000

    enum Fault: CaseIterable {
        /// The client cannot connect.
        case unreachable
        /// The request never arrives.
        case lostBefore
        /// The server responds, and the response never arrives.
        case lostAfter
        /// The connection breaks in the middle of the response.
        case cut
        /// The request arrives late, before or after the client has given up.
        case delayed, delayedPastTimeout
        /// The response arrives late, before or after the client has given up.
        case slowResponse, slowResponsePastTimeout
    }

    private(set) var requests: [SimulatedRequest] = []
    /// The fault that affects the next request.
    var fault: Fault?
    /// Whether a proxy sends the next request twice. The client receives the first response.
    var isDuplicating = false
    private var count = 0

    func send(
        _ refreshToken: String, _ kind: CallKind, from process: Int, under lock: SimulatedStore.Lock?, at now: Int
    ) -> SimulatedRequest {
        count += 1
        let request = SimulatedRequest(
            number: count, process: process, refreshToken: refreshToken, kind: kind, under: lock, at: now)
        switch fault {
        case nil: break
        case .unreachable:
            (request.processedAt, request.answeredAt, request.breaksAt) = (nil, nil, now + 10)
            request.isUnsent = true
        case .lostBefore: (request.processedAt, request.answeredAt) = (nil, nil)
        case .lostAfter: request.answeredAt = nil
        case .cut: (request.answeredAt, request.breaksAt) = (nil, now + 90)
        case .delayed: (request.processedAt, request.answeredAt) = (now + 9_000, now + 9_040)
        case .delayedPastTimeout: (request.processedAt, request.answeredAt) = (now + 47_000, now + 47_040)
        case .slowResponse: request.answeredAt = now + 12_000
        case .slowResponsePastTimeout: request.answeredAt = now + 41_000
        }
        (request.isDuplicated, isDuplicating) = (isDuplicating, false)
        fault = nil
        requests.append(request)
        return request
    }

    /// Lets the server respond to the requests that have arrived by now, in the order of their arrival.
    func deliver(to server: SimulatedServer, until now: Int) {
        for request in requests where now > request.breaksAt { abandon(request, server) }
        let due = requests.filter { !$0.isProcessed && $0.processedAt.map { $0 <= now } ?? false }
        for request in due.sorted(by: { ($0.processedAt ?? 0, $0.number) < ($1.processedAt ?? 0, $1.number) }) {
            // The server cannot know that the client gave up before the request arrived. The checker must.
            if let at = request.processedAt, at > request.breaksAt { abandon(request, server) }
            request.isProcessed = true
            request.response = server.response(request, at: request.processedAt ?? now)
            if request.isDuplicated { _ = server.response(request, at: (request.processedAt ?? now) + 20) }
            if request.isAbandoned || !request.isAnswered { lose(request, server) }
        }
        requests.removeAll { ($0.isProcessed || $0.processedAt == nil) && ($0.isAbandoned || $0.isOver) }
    }

    /// Breaks the connections of a process that has died, or all of them if the network was asleep.
    func breakAll(of process: Int? = nil, _ server: SimulatedServer, at now: Int) {
        for request in requests where !request.isOver && (process == nil || request.process == process) {
            request.answeredAt = nil
            request.breaksAt = min(request.breaksAt, now)
            abandon(request, server)
        }
    }

    private func abandon(_ request: SimulatedRequest, _ server: SimulatedServer) {
        guard !request.isOver, !request.isAnswered || request.breaksAt < (request.answeredAt ?? 0) else { return }
        request.isAbandoned = true
        lose(request, server)
    }

    private func lose(_ request: SimulatedRequest, _ server: SimulatedServer) {
        guard let token = request.successor, server.fates[token] == .underway else { return }
        server.fates[token] = .lost
    }
}
