internal import Dispatch
#if canImport(Glibc)
    internal import Glibc
#endif

/// The end of the program: SIGTERM or SIGINT, and on request the end of standard input.
struct EndOfService {
    private let events: AsyncStream<Void>
    private let sources: [any DispatchSourceSignal]

    init(withStandardInput: Bool) {
        let (events, continuation) = AsyncStream.makeStream(of: Void.self)
        self.events = events
        sources = [SIGTERM, SIGINT].map { number in
            // The default action would end the process before the source sees the signal.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { continuation.yield() }
            source.resume()
            return source
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
