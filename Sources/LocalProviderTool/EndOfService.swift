internal import Dispatch
#if canImport(Glibc)
    internal import Glibc
#endif

/// Waits for SIGTERM or SIGINT, and if asked for the end of standard input.
struct EndOfService {
    private let events: AsyncStream<Void>
    private let sources: [any DispatchSourceSignal]

    init(withStandardInput: Bool) {
        let (events, continuation) = AsyncStream.makeStream(of: Void.self)
        self.events = events
        sources = [SIGTERM, SIGINT].map { number in
            // The default would end the process before the source hears of it.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { continuation.yield() }
            source.resume()
            return source
        }
        guard withStandardInput else { return }
        // A thread of its own, since a read from a terminal or a pipe may wait for ever.
        DispatchQueue(label: "standard input").async {
            while readLine() != nil {}
            continuation.yield()
        }
    }

    func wait() async {
        for await _ in events { return }
    }
}
