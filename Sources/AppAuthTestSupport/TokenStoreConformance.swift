public import AppAuthSession

/// Checks that a store keeps what ``TokenStore`` promises. For a store of an app's own, from whatever test framework.
///
/// ```swift
/// @Test func `our store keeps its promises`() async {
///     let conformance = TokenStoreConformance { name in OurStore(database, key: name) }
///     #expect(await conformance.run().isEmpty)
/// }
/// ```
///
/// What cannot be seen from outside is not checked: that a crash or a power cut leaves the old session or the new one, and
/// that the refresh lock of a process that dies is free.
public struct TokenStoreConformance: Sendable {
    /// A promise that was not kept.
    public struct Violation: Error, Sendable, Hashable, CustomStringConvertible {
        /// The promise.
        public let sentence: String
        /// What happened instead.
        public let found: String
        /// Both.
        public var description: String { "\(sentence) But: \(found)." }
    }

    /// How long a call may take before it counts as one that never ends.
    public var patience = Duration.seconds(20)
    /// What changes with each write to a place: a modification time, the version of a row. With it the suite sees that
    /// nothing is written where nothing changes.
    public var version: (@Sendable (_ name: String) async throws -> String)?

    private let open: @Sendable (String) async throws -> any TokenStore

    /// - Parameter open: Opens the store of a name: each time anew, as another process would; a name that comes for the
    ///   first time is an empty place.
    public init(open: @escaping @Sendable (_ name: String) async throws -> any TokenStore) { self.open = open }

    /// The promises that are checked.
    public static var sentences: [String] { Check.all.map(\.sentence) }

    /// Checks all of them, one after the other, each at a place of its own.
    ///
    /// - Returns: What was not kept; empty for a good store.
    public func run() async -> [Violation] {
        var violations: [Violation] = []
        for (index, check) in Check.all.enumerated() {
            if let found = await outcome(of: check, "conformance-\(index)") {
                violations.append(Violation(sentence: check.sentence, found: found))
            }
        }
        return violations
    }

    private func outcome(of check: Check, _ name: String) async -> String? {
        let late: String? = "it did not end within \(patience)"
        return await within(patience, else: late) { () async -> String? in
            do {
                let bench = Bench(
                    store: try await open(name), other: try await open(name), next: try await open(name + "-next"),
                    patience: patience, version: version(of: name))
                try await check.run(bench)
                return nil
            } catch let broken as Broken {
                return broken.found
            } catch {
                return "it throws \(error)"
            }
        }
    }
}

extension TokenStoreConformance {
    private func version(of name: String) -> (@Sendable () async throws -> String)? {
        guard let version else { return nil }
        return { try await version(name) }
    }
}

/// What a check works with.
struct Bench: Sendable {
    let store: any TokenStore
    /// The same place, opened again.
    let other: any TokenStore
    /// Another place.
    let next: any TokenStore
    let patience: Duration
    let version: (@Sendable () async throws -> String)?

    /// How long something is watched that should not happen. A store that breaks its promise later is not caught.
    var pause: Duration { min(.milliseconds(100), patience / 4) }
}

/// One promise.
struct Check: Sendable {
    let sentence: String
    /// Throws ``Broken`` if it is not kept.
    let run: @Sendable (Bench) async throws -> Void

    static let all = content + locks
}

struct Broken: Error {
    let found: String

    static func unless(_ isKept: Bool, _ found: @autoclosure () -> String) throws {
        if !isKept { throw Broken(found: found()) }
    }
}

/// The result of the work, or something else where that takes too long. What takes too long is cancelled, and left behind.
func within<Value: Sendable>(
    _ limit: Duration, else late: Value, _ work: @escaping @Sendable () async -> Value
) async -> Value {
    let (values, continuation) = AsyncStream.makeStream(of: Value.self)
    let task = Task { continuation.yield(await work()) }
    let clock = Task {
        try await Task.sleep(for: limit)
        continuation.yield(late)
    }
    defer {
        task.cancel()
        clock.cancel()
    }
    for await value in values { return value }
    return late
}
