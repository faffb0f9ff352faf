import AppAuthConcurrency
import Testing

@Suite(.timeLimit(.minutes(1)))
struct BytePipeTests {
    private struct Broken: Error {}

    @Test func `a writer is called when there is room again`() throws {
        let (pipe, calls) = (BytePipe(capacity: 4), LockedValue(0))
        #expect(try pipe.put([1, 2, 3, 4, 5]) { Issue.record("there was room") })
        #expect(try !pipe.put([6]) { calls.withLock { $0 += 1 } })
        #expect(try pipe.take(atMost: 1) {} == [1])
        #expect(calls.withLock { $0 } == 1)
        #expect(try !pipe.put([6]) {})
        #expect(try pipe.take {} == [2, 3, 4, 5])
        #expect(try pipe.put([6]) {})
        #expect(calls.withLock { $0 } == 1)
    }

    @Test func `a reader is called when there are bytes, and at the end`() throws {
        let (pipe, calls) = (BytePipe(), LockedValue(0))
        #expect(try pipe.take { calls.withLock { $0 += 1 } } == nil)
        #expect(try pipe.put([1]) {})
        #expect(calls.withLock { $0 } == 1)
        #expect(try pipe.take {} == [1])
        #expect(try pipe.take { calls.withLock { $0 += 1 } } == nil)
        pipe.finish()
        #expect(calls.withLock { $0 } == 2)
        #expect(try pipe.take {} == [])
    }

    @Test func `tasks read what others write`() async throws {
        let pipe = BytePipe(capacity: 1)
        async let read = {
            var all: [UInt8] = []
            while let bytes = try await pipe.read() { all += bytes }
            return all
        }()
        try await pipe.requested()
        for byte in 0..<200 { try await pipe.write([UInt8(byte)]) }
        pipe.finish()
        #expect(try await read == Array(0..<200))
    }

    @Test func `another reader begins with the first byte if it is kept`() throws {
        let pipe = BytePipe(keeping: 3)
        #expect(try pipe.put([1, 2, 3, 4]) {})
        let first = pipe.reading
        #expect(try pipe.take(atMost: 3, reading: first) {} == [1, 2, 3])
        #expect(pipe.rewind())
        #expect(throws: CancellationError.self) { try pipe.take(reading: first) {} }
        #expect(try pipe.take(atMost: 3, reading: pipe.reading) {} == [1, 2, 3])
        #expect(try pipe.take(reading: pipe.reading) {} == [4])
        #expect(!pipe.rewind())
    }

    @Test func `an error comes after the bytes for the reader, and at once for the writer`() async throws {
        let pipe = BytePipe()
        try await pipe.write([1])
        pipe.fail(Broken())
        await #expect(throws: Broken.self) { try await pipe.write([2]) }
        #expect(try await pipe.read() == [1])
        await #expect(throws: Broken.self) { try await pipe.read() }
        #expect(!pipe.rewind())
    }

    @Test func `a cancelled task fails the pipe`() async throws {
        let pipe = BytePipe()
        let reader = Task { try await pipe.read() }
        try await pipe.requested()
        reader.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
        await #expect(throws: CancellationError.self) { try await pipe.write([1]) }
    }
}
