import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import AppAuthTestSupport
import Foundation
import Glibc
import JOSE

@testable import AppAuth

/// Uses the keyring of the session bus that it finds, since libsecret takes that from its process's environment.
///
///     keyring-program conformance
///     keyring-program load|save|remove|probe|prepare|stored|spoil|discard|restart COMMAND [--no-prompt] [--timeout SECONDS] [--library NAME]
///     keyring-program change COMMAND [remove]                (runs the command in the middle of a change)
///     keyring-program crowd COUNT                            (loads at once and then again, and counts the questions)
///     keyring-program without-threads FILE                   (changes the file where no thread can be started)
///     keyring-program without-descriptors FILE               (changes the file where none can be opened any more)
///     keyring-program record                                 (the session as it is stored)
///     keyring-program expire                                 (takes the rest of its life from the access token)
///     keyring-program choose FILE
///
/// With `--unattended` as a call without a waiting user, with `--expected` as one that expects a session.
/// The entry is one of a test's own, or another app's: `--application NAME --account NAME --label TEXT`.
/// Prints one JSON object.
@main
enum Main {
    static func main() async {
        var arguments = Array(CommandLine.arguments.dropFirst())
        func option(_ name: String) -> String? {
            guard let index = arguments.firstIndex(of: name), index + 1 < arguments.count else { return nil }
            defer { arguments.removeSubrange(index...index + 1) }
            return arguments[index + 1]
        }
        var store = KeyringTokenStore(
            application: option("--application") ?? "keyring-program", account: option("--account") ?? "Zoë",
            label: option("--label") ?? "A test's sign-in")
        func flag(_ name: String) -> Bool {
            guard let index = arguments.firstIndex(of: name) else { return false }
            arguments.remove(at: index)
            return true
        }
        if flag("--no-prompt") { store.mayPrompt = false }
        let call = TokenStoreCall(isUnattended: flag("--unattended"), expectsSession: flag("--expected"))
        if let seconds = option("--timeout").flatMap(Double.init) { store.promptTimeout = .seconds(seconds) }
        if let library = option("--library") { store.library = library }
        let start = ContinuousClock.now
        var result: JSON.Object
        do {
            result = try await run(arguments, store, call)
        } catch let error as AuthError {
            result = [
                "code": .string(error.code.rawValue), "message": .string(error.message),
                "temporary": .bool(error.isTemporary),
                "problem": error.storeProblem.map { .string($0.rawValue) } ?? .null,
            ]
        } catch { result = ["error": .string("\(error)")] }
        result["seconds"] = .number(.init(Int((ContinuousClock.now - start) / .seconds(1))))
        print(JSON.object(result).serialized())
    }

    private static func run(
        _ arguments: [String], _ store: KeyringTokenStore, _ call: TokenStoreCall
    ) async throws -> JSON.Object {
        switch arguments.first ?? "" {
        case "conformance":
            var conformance = TokenStoreConformance {
                KeyringTokenStore(application: "conformance", account: $0, label: "\($0) of a test")
            }
            // Where a sanitizer watches, beside others, a keyring is slow.
            conformance.patience = .seconds(60)
            return ["violations": .array(await conformance.run().map { .string($0.description) })]
        case "load": break
        case "save":
            let record = try Self.record(arguments.count > 1 ? arguments[1] : "client")
            try await store.update(call) { $0 = record }
        case "remove": try await store.update(call) { $0 = nil }
        case "probe": try await store.probe(call)
        case "prepare": try await store.prepare()
        case "stored":
            let stored = try await KeyringTokenStore.stored(application: store.application)
            return ["stored": .array(stored.map { ["account": .string($0.account), "label": .string($0.label)] })]
        case "spoil":
            let entry = SecretService.Entry(
                application: store.application, account: store.account, label: store.label, location: store.location)
            try SecretService(entry, library: store.library).write(Array("{}".utf8))
            return [:]
        case "discard": return ["aside": try await store.discard().map(JSON.string) ?? .null]
        case "restart":
            _ = try await store.load(call)
            guard system(arguments[1]) == 0 else { return ["error": "the command failed"] }
        case "change":
            let isAbsent = arguments.count > 2
            let record = isAbsent ? nil : try Self.record("changed")
            try await store.update(call) { [command = arguments[1]] stored in
                stored = record
                if system(command) != 0 { throw CommandFailure() }
            }
        case "choose":
            let choice = try await store.orElse(FileTokenStore(path: arguments[1]), call: call)
            return [
                "place": .string(choice.store.location), "keyring": .bool(choice.isKeyring),
                "problem": choice.refusal?.storeProblem.map { .string($0.rawValue) } ?? .null,
            ]
        case "crowd":
            var problems: Set<String> = []
            for count in [Int(arguments[1]) ?? 0, 1, 1] {
                problems.formUnion(
                    await withTaskGroup { group in
                        for _ in 0..<count { group.addTask { await Self.problem { _ = try await store.load(call) } } }
                        return await group.reduce(into: Set()) { $0.insert($1) }
                    })
            }
            return [
                "problems": .array(problems.sorted().map(JSON.string)),
                "questions": .number(.init(try openQuestions())),
            ]
        case "without-threads":
            let file = FileTokenStore(path: arguments[1])
            // In a task that has its thread already.
            try await Task.detached {
                let former = takeThreads()
                defer { limitMemory(to: former) }
                try await file.update { _ in }
            }.value
            return [:]
        case "without-descriptors":
            let file = FileTokenStore(path: arguments[1])
            let record = try Self.record("stored")
            let lock = try await file.refreshLock()
            // The first time limit of a process opens files too: those
            // of the timers.
            try await file.update { $0 = record }
            try await file.update { $0 = nil }
            let former = takeDescriptors()
            defer { limitDescriptors(to: former) }
            for _ in 0..<2 { try await file.update { $0 = $0 == nil ? record : nil } }
            try await file.update { $0 = record }
            lock.release()
            limitDescriptors(to: former)
            _ = takeDescriptors()
            let refusal = await Self.problem { _ = try await file.refreshLock() }
            limitDescriptors(to: former)
            return [
                "session": (try await file.load()).map { .string($0.client.id) } ?? .null, "refusal": .string(refusal),
            ]
        case "record":
            let record = try await store.load(call)
            return ["record": try record.map { try JSON(parsing: $0.encoded()) } ?? .null]
        case "expire": try await store.update(call) { $0 = try $0.map(expired) }
        default: return ["error": "wrong usage"]
        }
        let record = try await store.load(call)
        return ["session": record.map { .string($0.client.id) } ?? .null]
    }

    private static func problem(_ call: () async throws -> Void) async -> String {
        do { try await call() } catch { return (error as? AuthError)?.storeProblem?.rawValue ?? "\(error)" }
        return "none"
    }

    /// The threads that wait for the user.
    private static func openQuestions() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count { id in
            FileManager.default.contents(atPath: "/proc/self/task/\(id)/comm") == Data("appauth-unlock\n".utf8)
        }
    }

    /// From now on no thread can be started: there is no room for its stack.
    ///
    /// - Returns: The limit that there was.
    private static func takeThreads() -> rlim_t {
        var limit = rlimit()
        getrlimit(addressSpace, &limit)
        let pages = FileManager.default.contents(atPath: "/proc/self/statm").flatMap {
            UInt(String(decoding: $0, as: UTF8.self).prefix { $0 != " " })
        }
        limitMemory(to: rlim_t((pages ?? 0) * UInt(getpagesize()) + 1 << 20))
        return limit.rlim_cur
    }

    private static func limitMemory(to size: rlim_t) {
        var limit = rlimit()
        getrlimit(addressSpace, &limit)
        limit.rlim_cur = size
        setrlimit(addressSpace, &limit)
    }

    /// From now on no file can be opened, unless another is closed.
    ///
    /// - Returns: The limit that there was.
    private static func takeDescriptors() -> rlim_t {
        var limit = rlimit()
        getrlimit(openFiles, &limit)
        let open = (0..<1024).filter { fcntl($0, F_GETFD) >= 0 }
        limitDescriptors(to: rlim_t((open.max() ?? 0) + 1))
        // The descriptors in between are taken too.
        while dup(0) >= 0 {}
        return limit.rlim_cur
    }

    private static func limitDescriptors(to count: rlim_t) {
        var limit = rlimit()
        getrlimit(openFiles, &limit)
        limit.rlim_cur = count
        setrlimit(openFiles, &limit)
    }

    private static let openFiles = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    private static let addressSpace = __rlimit_resource_t(RLIMIT_AS.rawValue)

    /// The same, with an access token whose time is over.
    private static func expired(_ record: AuthStateRecord) throws -> AuthStateRecord {
        var json = try JSON(parsing: record.encoded()).object ?? [:]
        var token = json["accessToken"]?.object ?? [:]
        token["lifetime"] = 0
        json["accessToken"] = .object(token)
        return try AuthStateRecord(decoding: Array(JSON.object(json).serialized().utf8), from: "the keyring")
    }

    private static func record(_ name: String) throws -> AuthStateRecord {
        let provider = try ProviderMetadata(
            issuer: "https://op.example", endpoints: [.token: "https://op.example/token"])
        return try AuthStateRecord(
            client: Client(id: name, provider: provider), accessToken: nil,
            refreshToken: Secret(String(repeating: "r", count: 10_000)))
    }
}

struct CommandFailure: Error {}
