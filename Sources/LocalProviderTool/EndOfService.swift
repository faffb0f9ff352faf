internal import Dispatch
internal import Glibc

/// The end of the program: SIGTERM or SIGINT, and on request the end of standard input.
struct EndOfService {
    private let events: AsyncStream<Void>
    private let sources: [any DispatchSourceSignal]

    /// Returns when the signals are taken: each ends the program at once before that, and none is lost.
    init(withStandardInput: Bool) async {
        let (events, continuation) = AsyncStream.makeStream(of: Void.self)
        self.events = events
        sources = [SIGTERM, SIGINT].map { DispatchSource.makeSignalSource(signal: $0, queue: .global()) }
        for source in sources {
            source.setEventHandler { continuation.yield() }
            await withCheckedContinuation { registered in
                source.setRegistrationHandler { registered.resume() }
                source.resume()
            }
        }
        guard withStandardInput else { return }
        // On a thread of its own, since a read from a terminal or a pipe may block forever.
        DispatchQueue(label: "standard input").async {
            while readLine() != nil {}
            continuation.yield()
        }
    }

    func wait() async {
        for await _ in events { return }
    }
}
