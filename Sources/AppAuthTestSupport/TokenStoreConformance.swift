public import AppAuthSession

/// A test suite for an app's own implementation of ``TokenStore``, for any test framework.
///
/// ```swift
/// @Test func `our store keeps its promises`() async {
///     let conformance = TokenStoreConformance { name in OurStore(database, key: name) }
///     #expect(await conformance.run().isEmpty)
/// }
/// ```
///
/// Two promises are not checked, because they are not observable from outside: a crash or a power cut leaves the old
/// session or the new one, and the refresh lock of a process that dies is free.
public struct TokenStoreConformance: Sendable {
    /// A promise that the store broke.
    public struct Violation: Error, Sendable, Hashable, CustomStringConvertible {
        /// The promise.
        public let sentence: String
        /// The behaviour that the check found instead.
        public let found: String
        /// The promise and the finding.
        public var description: String { "\(sentence) But: \(found)." }
    }

    /// The time limit of a call. A call that takes longer counts as one that never ends.
    public var patience = Duration.seconds(20)
    /// A function that returns a value which changes with each write to a store: a modification time, or the version of
    /// a row. If it is set, the suite checks that an update without changes writes nothing.
    public var version: (@Sendable (_ name: String) async throws -> String)?

    private let open: @Sendable (String) async throws -> any TokenStore

    /// Creates a suite.
    ///
    /// - Parameter open: Opens the store of a name, each time anew, as another process would. A store with a new name
    ///   is empty. The names are new with each run, so a database may keep what an earlier run has left.
    public init(open: @escaping @Sendable (_ name: String) async throws -> any TokenStore) { self.open = open }

    /// The promises that the suite checks.
    public static var sentences: [String] { Check.all.map(\.sentence) }

    /// Runs all checks, one after the other, each with a store of its own.
    ///
    /// - Returns: The violations; empty if the store keeps its promises.
    public func run() async -> [Violation] {
        var violations: [Violation] = []
        let run = String(UInt64.random(in: .min ... .max), radix: 36)
        for (index, check) in Check.all.enumerated() {
            if let found = await outcome(of: check, "conformance-\(run)-\(index)") {
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
                return "it threw \(error)"
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

/// The stores and limits that a check works with.
struct Bench: Sendable {
    let store: any TokenStore
    /// The same store, opened again.
    let other: any TokenStore
    /// A store with another name.
    let next: any TokenStore
    let patience: Duration
    let version: (@Sendable () async throws -> String)?

    /// The time for which a check waits for something that must not happen. A violation after that time is not found.
    var pause: Duration { min(.milliseconds(100), patience / 4) }
}

/// A check of one promise.
struct Check: Sendable {
    let sentence: String
    /// Throws ``Broken`` if the store breaks the promise.
    let run: @Sendable (Bench) async throws -> Void

    static let all = content + locks
}

struct Broken: Error {
    let found: String

    static func unless(_ isKept: Bool, _ found: @autoclosure () -> String) throws {
        if !isKept { throw Broken(found: found()) }
    }
}

/// Returns the result of the work, or `late` if the work exceeds the limit. Work that exceeds it is cancelled but not
/// awaited.
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
