internal import AppAuth
internal import BenchReport
internal import FoundationEssentials
internal import Synchronization

/// `herd N`
func herd(of count: Int) async throws -> Report {
    let path = try variable("STATE")
    let record: AuthStateRecord
    do { record = try storedSession(JSON(parsing: contents(of: path))) } catch let error as JSON.ParseError {
        throw Failure("\(path): \(error)")
    }
    let state = try await AuthState(record: record, store: MemoryTokenStore(), environment: .live)

    let start = Spent.now
    let (good, failure) = await withCheckedContinuation { end in
        let tally = Tally(count, end)
        for _ in 0..<count {
            Task {
                do { tally.add(.success(!(try await state.freshAccessToken()).value.reveal().isEmpty)) } catch {
                    tally.add(.failure(error))
                }
            }
        }
    }
    let spent = Spent.now - start
    if good == 0, let failure { throw failure }
    var report = Report(n: count, spent)
    report.add("good", good)
    return report
}

/// The results of the tasks, and the continuation that waits for the last of them. Neither a task group nor a stream: both take longer than the
/// library, the one to take its children out, the other to wake its reader for each.
private final class Tally: Sendable {
    struct State {
        var left: Int
        var good = 0
        var failure: (any Error)?
        let end: CheckedContinuation<(Int, (any Error)?), Never>
    }
    let state: Mutex<State>

    init(_ count: Int, _ end: CheckedContinuation<(Int, (any Error)?), Never>) {
        state = Mutex(State(left: count, end: end))
    }

    func add(_ result: Result<Bool, any Error>) {
        state.withLock { state in
            switch result {
            case .success(let isGood): state.good += isGood ? 1 : 0
            case .failure(let error): state.failure = state.failure ?? error
            }
            state.left -= 1
            if state.left == 0 { state.end.resume(returning: (state.good, state.failure)) }
        }
    }
}

private func storedSession(_ json: JSON) throws -> AuthStateRecord {
    func text(_ name: String) throws -> String {
        guard let text = json[name]?.string, !text.isEmpty else {
            throw Failure("expected the session to have '\(name)', found none")
        }
        return text
    }
    let endpoint = try text("token_endpoint")
    let client = try Client(
        id: json["client_id"]?.string ?? "bench", serverOf: SecureURL(endpoint), endpoints: [.token: endpoint])
    guard try text("token_type").lowercased() == "bearer" else { throw Failure("expected the token type Bearer") }
    guard let expiry = json["expires_at"].flatMap(date) else {
        throw Failure("expected the session to have 'expires_at' as seconds since 1970 or as RFC 3339 has it")
    }
    let token = AccessToken(value: Secret(try text("access_token")), issuedAt: expiry - 3600, expiresAt: expiry)
    return try AuthStateRecord(client: client, accessToken: token, refreshToken: Secret(try text("refresh_token")))
}

private func date(_ json: JSON) -> Date? {
    if let seconds = json.double { return Date(timeIntervalSince1970: seconds) }
    guard let text = json.string else { return nil }
    return (try? Date(text, strategy: .iso8601))
        ?? (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
}
