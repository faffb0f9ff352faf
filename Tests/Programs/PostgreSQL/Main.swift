import AppAuth
import AppAuthPostgreSQL
import AppAuthSession
import AppAuthTestSupport
import Foundation
import Glibc
import JOSE

/// Another process, perhaps on another machine, that uses a session in PostgreSQL.
///
///     postgresql-program token CONNECTION KEY [LOCK-TIMEOUT]   (prints a valid access token)
///     postgresql-program serve CONNECTION KEY [LOCK-TIMEOUT]   (the same; after an error, which it prints, a line of input
///                                                              makes it try again)
///     postgresql-program watch CONNECTION KEY                  (prints "watching", the access tokens that others store, and
///                                                              "ended" when they sign out)
///     postgresql-program conformance CONNECTION PREFIX         (checks the promises of a store, with keys that begin so, and
///                                                              prints those that it breaks, and "ended")
///     postgresql-program hold CONNECTION KEY LOCK-TIMEOUT      (takes the refresh lock, and prints "held"; after a line of
///                                                              input changes the session under it, and prints the client
///                                                              IDs that it found)
///     postgresql-program cost CONNECTION KEY FILE              (prints the milliseconds of calls, in the median of 200, for
///                                                              the database and for a file)
///     postgresql-program proxy PORT NAMESPACE                  (prints "ready", and forwards connections to this port on
///                                                              loopback from the network namespace, until its input ends)
@main
enum Main {
    static func main() async {
        let arguments = CommandLine.arguments
        do {
            switch arguments[1] {
            case "token":
                guard let state = try await AuthState(restoring: store(arguments), environment: .live) else {
                    return print("no session")
                }
                print(try await state.freshAccessToken().value.reveal())
            case "serve": try await serve(store(arguments))
            case "watch": try await watch(store(arguments))
            case "conformance":
                let (database, prefix) = (arguments[2], arguments[3])
                var conformance = TokenStoreConformance { try PostgreSQLDatabase(database).store(for: prefix + $0) }
                conformance.patience = .seconds(60)
                for violation in await conformance.run() { print(violation) }
                print("ended")
            case "hold": try await hold(store(arguments))
            case "cost":
                let database = try PostgreSQLDatabase(arguments[2])
                try await database.createTable()
                try await measure(database.store(for: arguments[3]), "PostgreSQL")
                try await measure(FileTokenStore(path: arguments[4]), "file")
            case "proxy": forward(to: loopback(UInt16(arguments[2]) ?? 0), from: arguments[3])
            default: print("wrong usage")
            }
        } catch { print("error: \(error)") }
    }

    private static func store(_ arguments: [String]) throws -> PostgreSQLTokenStore {
        var options = PostgreSQLDatabase.Options()
        if arguments.count > 4, let seconds = Double(arguments[4]) { options.lockTimeout = .seconds(seconds) }
        return try PostgreSQLDatabase(arguments[2], options: options).store(for: arguments[3])
    }

    private static func serve(_ store: PostgreSQLTokenStore) async throws {
        guard let state = try await AuthState(restoring: store, environment: .live) else { return print("no session") }
        repeat {
            do { return say(try await state.freshAccessToken().value.reveal()) } catch { say("error: \(error)") }
        } while await Task.detached { readLine() }.value != nil
    }

    private static func watch(_ store: PostgreSQLTokenStore) async throws {
        guard let state = try await AuthState(restoring: store, environment: .live) else { return print("no session") }
        let changes = state.changes
        let reports = Task {
            var isFirst = true
            for await _ in store.changes {
                try? await state.synchronize()
                // The first report says that the server will send reports.
                if isFirst { say("watching") }
                isFirst = false
            }
        }
        defer { reports.cancel() }
        for await change in changes {
            switch change {
            case .renewed(let record): say("renewed \(record.accessToken?.value.reveal() ?? "nothing")")
            case .ended: return say("ended")
            default: break
            }
        }
    }

    private static func say(_ line: String) {
        print(line)
        fflush(nil)
    }

    private static func hold(_ store: PostgreSQLTokenStore) async throws {
        let lock = try await store.refreshLock()
        say("held")
        _ = readLine()
        try await store.update(TokenStoreCall(grant: lock.grant)) { record in
            print("found \(record?.client.id ?? "none")")
            guard let provider = record?.client.provider else { return }
            record?.client = Client(id: "late", provider: provider)
        }
        lock.release()
    }

    // MARK: - Cost

    private static func measure(_ store: some TokenStore, _ name: String) async throws {
        func median(_ call: (Int) async throws -> Void) async throws -> String {
            var times: [Double] = []
            for index in 0..<200 {
                let start = ContinuousClock.now
                try await call(index)
                times.append((ContinuousClock.now - start) / .milliseconds(1))
            }
            return String(format: "%.2f", times.sorted()[100])
        }
        let provider = try ProviderMetadata(
            issuer: "https://op.example", endpoints: [.token: "https://op.example/token"])
        let write = try await median { index in
            let record = try AuthStateRecord(
                client: Client(id: "\(index)", provider: provider), accessToken: nil, refreshToken: Secret("token"))
            try await store.update { $0 = record }
        }
        let read = try await median { _ in _ = try await store.load() }
        let lock = try await median { _ in try await store.refreshLock().release() }
        print("\(name): write \(write), read \(read), lock \(lock)")
    }

    // MARK: - A proxy

    private static func forward(to target: sockaddr_in, from namespace: String) {
        var target = target
        // A socket stays in the namespace in which it was created.
        let here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)
        guard enter(open(namespace, O_RDONLY | O_CLOEXEC)) else { return perror("proxy") }
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var isBound = false
        withAddress(&target) { isBound = bind(listener, $0, $1) == 0 }
        guard isBound, listen(listener, 64) == 0, enter(here) else { return perror("proxy") }
        say("ready")
        Thread.detachNewThread {
            while readLine() != nil {}
            exit(0)
        }
        while true {
            let near = accept(listener, nil, nil)
            guard near >= 0 else { continue }
            let far = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var isOpen = false
            withAddress(&target) { isOpen = connect(far, $0, $1) == 0 }
            guard isOpen else {
                close(near)
                close(far)
                continue
            }
            for (from, to) in [(near, far), (far, near)] {
                Thread.detachNewThread {
                    var buffer = [UInt8](repeating: 0, count: 1 << 16)
                    while true {
                        let count = recv(from, &buffer, buffer.count, 0)
                        guard count > 0, send(to, buffer, count, Int32(MSG_NOSIGNAL)) == count else { break }
                    }
                    shutdown(from, Int32(SHUT_RD))
                    shutdown(to, Int32(SHUT_WR))
                }
            }
        }
    }

    /// Calls setns(2), which Glibc's module does not have.
    private static func enter(_ namespace: Int32) -> Bool {
        typealias Call = @convention(c) (_ namespace: Int32, _ kind: Int32) -> Int32
        guard let call = dlsym(nil, "setns") else { return false }
        return unsafeBitCast(call, to: Call.self)(namespace, 0) == 0
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private static func withAddress(
        _ address: inout sockaddr_in, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Void
    ) {
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
