import AppAuth
import AppAuthConcurrency
import AppAuthPostgreSQL
import AppAuthProtocol
import AppAuthTestSupport
import Foundation
import Testing
import TestFixtures

@Suite(.serialized, .timeLimit(.minutes(5)))
struct StoreTests {
    @Test(arguments: [false, true])
    func `the store keeps the promises of a token store`(isEncrypted: Bool) async throws {
        try await Server.run { server in
            try await server.database().createTable()
            let keys = isEncrypted ? [try SessionEncryptionKey(id: "1", bytes: Array(repeating: 7, count: 32))] : []
            var conformance = TokenStoreConformance { try server.database(keys).store(for: $0) }
            conformance.patience = .seconds(60)
            conformance.version = { try server.sql("SELECT version FROM appauth_session WHERE key = '\($0)'") }
            let broken = await conformance.run()
            #expect(broken.isEmpty, "\(broken)")
        }
    }

    @Test func `processes that create the table at once have one table, and a later call changes nothing`() async throws
    {
        try await Server.run { server in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 { group.addTask { try await server.database().createTable() } }
                try await group.waitForAll()
            }
            let store = try server.database().store(for: "one")
            try await store.put(.sample("kept"))
            try await store.database.createTable()
            #expect(try await store.name == "kept")
        }
    }

    /// A type that has the table's name is what a process finds while another one creates the table.
    @Test func `a type of the table's name is no table, and createTable ends`() async throws {
        try await Server.run { server in
            try server.sql("CREATE TYPE appauth_session AS ENUM ('other')")
            let error = try #require(await authError { try await server.database().createTable() })
            #expect(error.storeProblem == .damaged && error.message.contains("already exists"), "\(error)")
            #expect(!error.isTemporary)
        }
    }

    @Test func `a table that is something else is refused, and stays`() async throws {
        try await Server.run { server in
            try server.sql("CREATE TABLE appauth_session (name text)")
            let error = try #require(await authError { try await server.database().createTable() })
            #expect(error.storeProblem == .damaged && error.message.contains("found none"), "\(error)")
            #expect(try server.sql("SELECT count(*) FROM appauth_session") == "0")
            let store = try server.database().store(for: "one")
            #expect(await authError { try await store.load() }?.storeProblem == .unavailable)
        }
    }

    /// Another role can own a partition, or have a trigger of it.
    /// After a crash of the server, it would be empty.
    @Test func `an unlogged table is refused`() async throws {
        try await Server.run { server in
            try await server.database().createTable()
            try server.sql("ALTER TABLE appauth_session SET UNLOGGED")
            let error = try #require(await authError { _ = try await server.database().store(for: "one").load() })
            #expect(error.storeProblem == .damaged && error.message.contains("unlogged"), "\(error)")
        }
    }

    @Test func `a partitioned table is refused`() async throws {
        try await Server.run { server in
            try await server.database().createTable()
            try server.sql(
                "ALTER TABLE appauth_session RENAME TO part; "
                    + "CREATE TABLE appauth_session (LIKE part INCLUDING ALL) PARTITION BY HASH (key); "
                    + "ALTER TABLE appauth_session ATTACH PARTITION part FOR VALUES WITH (MODULUS 1, REMAINDER 0)")
            let store = try server.database().store(for: "one")
            let error = try #require(await authError { try await store.load() })
            #expect(error.storeProblem == .damaged && error.message.contains("partitioned"), "\(error)")
        }
    }

    /// The trigger of a child would run with the role of this program.
    @Test func `a table from which another one inherits is refused`() async throws {
        try await Server.run { server in
            try await server.database().createTable()
            let store = try server.database().store(for: "one")
            #expect(try await store.load() == nil)
            try server.sql("CREATE TABLE child () INHERITS (appauth_session)")
            let error = try #require(await authError { try await server.database().store(for: "one").load() })
            #expect(error.storeProblem == .damaged && error.message.contains("is inherited"), "\(error)")
        }
    }

    @Test func `without the table, the error says how to create it`() async throws {
        try await Server.run { server in
            let store = try server.database().store(for: "one")
            for call in [
                { _ = try await store.load() }, { try await store.prepare() }, { try await store.put(.sample()) },
            ] {
                let error = try #require(await authError(call))
                #expect(error.storeProblem == .unavailable && error.message.contains("createTable()"), "\(error)")
            }
        }
    }

    /// By default, the schema of the role's name comes first in the `search_path`.
    @Test(arguments: ["app.session", "public.session", "other.session", "session", "Session_2", "_s"])
    func `a table can have another name, and a schema`(name: String) async throws {
        try await Server.run { server in
            try server.sql("CREATE SCHEMA app; CREATE SCHEMA other")
            let database = try PostgreSQLDatabase(server.connection(), table: name)
            try await database.createTable()
            try await database.store(for: "one").put(.sample("here"))
            #expect(try await database.store(for: "one").name == "here")
            let quoted = name.split(separator: ".").map { "\"\($0)\"" }.joined(separator: ".")
            #expect(try server.sql("SELECT key FROM \(quoted)") == "one")
        }
    }

    @Test(arguments: ["", "a.b.c", "a b", "1a", "a\"b", "a;drop", ".a", "ä", String(repeating: "a", count: 64)])
    func `a name that is no identifier is refused before anything is sent`(name: String) throws {
        let error = #expect(throws: AuthError.self) { try PostgreSQLDatabase("", table: name) }
        #expect(error?.code == .invalidConfiguration)
    }

    @Test(arguments: ["Robert'); DROP TABLE appauth_session;--", "$1", "ключ \u{1F511}", " "])
    func `a key is a value, whatever it contains`(key: String) async throws {
        try await Server.run { server in
            try await server.database().createTable()
            let store = try server.database().store(for: key)
            try await store.put(.sample("kept"))
            #expect(try await server.database().store(for: key).name == "kept")
        }
    }

    @Test func `a row with a number that has no successor is the reason in the error, and can be mended`() async throws
    {
        try await Server.run { server in
            try await server.database().createTable()
            let store = try server.database().store(for: "one")
            try await store.put(.sample())
            for column in ["version", "lock_number"] {
                try server.sql("UPDATE appauth_session SET \(column) = \(Int64.max)")
                let error = try #require(
                    await authError {
                        if column == "version" {
                            try await store.put(.sample())
                        } else {
                            _ = try await store.refreshLock()
                        }
                    })
                #expect(error.storeProblem == .damaged && error.message.contains("set its version"), "\(error)")
                try server.sql("UPDATE appauth_session SET \(column) = 0")
                try await store.put(.sample())
                try await store.refreshLock().release()
            }
        }
    }

    /// The names in messages leave out what may be a password.
    @Test func `the lock of a session is not that of another server, which messages call the same`() async throws {
        try await Server.run { server in
            try await Server.run { other in
                let stores = try [server, other].map { server in
                    try PostgreSQLDatabase(
                        "host=127.0.0.1 port=\(server.port) user=app password='\(Server.password)' dbname=\(server.name)"
                    ).store(for: "one")
                }
                #expect(stores[0].location == stores[1].location)
                for server in [server, other] { try await server.database().createTable() }
                let locks = [try await stores[0].refreshLock(), try await stores[1].refreshLock()]
                for lock in locks { lock.release() }
            }
        }
    }

    @Test func `a session that is larger than the limit is neither written nor read`() async throws {
        try await Server.run { server in
            try await server.database().createTable()
            let small = try server.database { $0.largestRecord = 2000 }.store(for: "one")
            let large = try AuthStateRecord.sample(refreshToken: String(repeating: "r", count: 5000))
            #expect(await authError { try await small.put(large) }?.message.contains("only 2000") ?? false)
            try await small.put(.sample())
            try await server.database().store(for: "one").put(large)
            #expect(await authError { try await small.load() }?.storeProblem == .damaged)
        }
    }

    @Test func `a role that may only read is told so before the sign-in`() async throws {
        try await Server.run { server in
            try await server.database().createTable()
            try server.sql("CREATE ROLE reader LOGIN PASSWORD 'r'; GRANT SELECT ON appauth_session TO reader")
            let reader = try PostgreSQLDatabase(server.connection(role: "reader", password: "r"))
            let error = try #require(await authError { try await reader.store(for: "one").prepare() })
            #expect(error.storeProblem == .denied && error.message.contains("INSERT"), "\(error)")
            #expect(await authError { try await reader.store(for: "one").put(.sample()) }?.storeProblem == .denied)
            try server.sql("GRANT INSERT, UPDATE ON appauth_session TO reader")
            try await reader.store(for: "one").prepare()
            try await reader.store(for: "one").put(.sample())
            try await reader.store(for: "one").refreshLock().release()
        }
    }

    // MARK: - Secrets and errors

    @Test func `a wrong password is refused at once, and is no failure of the network`() async throws {
        try await Server.run { server in
            try await server.database().createTable()
            let store = try PostgreSQLDatabase(server.connection(password: "wr0ng")).store(for: "one")
            let begin = ContinuousClock.now
            for error in await [
                authError { _ = try await store.load() }, authError { try await store.prepare() },
                authError { try await store.refreshLock().release() },
            ] {
                #expect(error?.storeProblem == .denied && error?.isTemporary == false, "\(String(describing: error))")
                #expect(error?.message.contains("cannot be reached") == false, "\(String(describing: error))")
            }
            // Each call would try for 10 s.
            #expect(ContinuousClock.now - begin < .seconds(10))
        }
    }

    @Test func `no error contains a password`() async throws {
        try await Server.run { server in
            let wrong = "wr0ng-p4ss"
            for text in [
                server.connection(password: wrong),
                "host=127.0.0.1 port=\(server.port) user=app password=\(wrong) dbname=postgres",
                "host=127.0.0.1 password=\(wrong) x",  // cannot be parsed
                // libpq accepts these raw.
                "postgresql://app:\(wrong)#x@127.0.0.1:\(server.port)/postgres",
                "postgresql://app:\(wrong)?x@127.0.0.1:\(server.port)/postgres",
                "host=127.0.0.1 port=\(server.port) user=app password='a host=\(wrong) b' dbname=postgres",
                "host=127.0.0.1\tport=\(server.port)\nuser=app\tpassword=\(wrong)\tdbname=postgres",
                "host=127.0.0.1 port=\(server.port) user=app password=a\\ dbname=\(wrong) dbname=postgres",
                "host=127.0.0.1 port=\(server.port) user=app dbname=postgres password = host=\(wrong)",
                // libpq takes a part of these for a port, a host or a database.
                "postgresql://app:\(wrong)/x@127.0.0.1:\(server.port)/postgres",
                "postgresql://app:x@\(wrong)@127.0.0.1:\(server.port)/postgres",
                "postgresql://app:\(wrong)@127.0.0.1:99999/postgres", "postgresql://app:\(wrong)@[::1/postgres",
                "postgresql://app:\(wrong)/x?y@127.0.0.1:\(server.port)/postgres",
                "postgresql://app:1/\(wrong)?x@127.0.0.1:\(server.port)/postgres",
                // In other forms, the password is a part of a name.
                "postgresql://app:\(wrong):127.0.0.1/postgres", "postgresql://127.0.0.1/postgres&password=\(wrong)",
                "postgresql://127.0.0.1:\(server.port)/postgres;password=\(wrong)",
                "host=127.0.0.1,port=\(server.port),password=\(wrong)", "host=127.0.0.1;password=\(wrong)",
                "host=127.0.0.1 port=\(server.port) dbname=postgresql://app:\(wrong)@127.0.0.1/postgres",
                "host=127.0.0.1 port=\(server.port) sslmode=require;password=\(wrong)",
                "host=127.0.0.1 port=\(server.port) connect_timeout=10,PASSWORD=\(wrong)",
                "host=127.0.0.1 port=\(server.port) dbname=postgres user=app;password=\(wrong)",
            ] {
                let database = try PostgreSQLDatabase(text, options: .quick)
                for call in [
                    { _ = try await database.store(for: "one").load() }, { try await database.createTable() },
                    { try await database.store(for: "one").refreshLock().release() },
                ] {
                    let error = try #require(await authError(call), "\(text)")
                    #expect(!"\(error) \(error.message)".contains(wrong), "\(error)")
                }
            }
        }
    }

    /// How a process gets at the password, or fails to.
    enum Access: CaseIterable {
        case passwordFile, passwordFileOfAnotherPort, readablePasswordFile, noPasswordFile
        case service, serviceWithPasswordFile, unknownService, variables

        var isRight: Bool { [.passwordFile, .service, .serviceWithPasswordFile, .variables].contains(self) }
    }

    @Test(arguments: Access.allCases)
    func `password files, service files and variables of libpq apply`(access: Access) async throws {
        try await Server.run { server in
            try await server.database().createTable()
            let folder = FileManager.default.temporaryDirectory.appending(path: "libpq-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            defer { try? FileManager.default.removeItem(at: folder) }
            let (passwords, services) = (folder.appending(path: "passwords"), folder.appending(path: "services"))
            let place = ["host": "127.0.0.1", "port": "\(server.port)", "dbname": server.name, "user": "app"]
            let port = access == .passwordFileOfAnotherPort ? server.port + 1 : server.port
            try Data("127.0.0.1:\(port):*:app:\(Server.password)\n".utf8).write(to: passwords)
            // libpq ignores a file that others can read.
            chmod(passwords.path, access == .readablePasswordFile ? 0o644 : 0o600)
            let lines = place.map { "\($0)=\($1)\n" }.joined()
            let password = access == .service ? "password=\(Server.password)\n" : ""
            try Data("[billing]\n\(lines)\(password)".utf8).write(to: services)

            var environment = ["HOME": folder.path, "PGSERVICEFILE": services.path]
            if access != .noPasswordFile, access != .service { environment["PGPASSFILE"] = passwords.path }
            let text: String
            switch access {
            case .service, .serviceWithPasswordFile: text = "service=billing"
            case .unknownService: text = "service=payroll"
            case .variables:
                text = ""
                for (name, variable) in [
                    ("host", "PGHOST"), ("port", "PGPORT"), ("dbname", "PGDATABASE"), ("user", "PGUSER"),
                ] {
                    environment[variable] = place[name]
                }
            default: text = place.map { "\($0)=\($1)" }.joined(separator: " ")
            }
            let output = try await Program(Program.session, ["token", text, "one"], environment: environment).end()
            #expect((output == "no session") == access.isRight, "\(output)")
            #expect(access.isRight || output.contains("error: ") && !output.contains(Server.password), "\(output)")
        }
    }

    /// A self-signed certificate is its own root.
    @Test(arguments: [true, false])
    func `the server's certificate is verified as the connection string says`(isRoot: Bool) async throws {
        try await Server.run { server in
            try await server.database().createTable()
            let roots = "/etc/ssl/certs"
            let other = try FileManager.default.contentsOfDirectory(atPath: roots).first { $0.hasSuffix(".pem") }
            let root = isRoot ? server.certificate : "\(roots)/\(try #require(other))"
            let text = server.connection() + "?sslmode=verify-full&sslrootcert=\(root)"
            var options = PostgreSQLDatabase.Options()
            // It tries until then.
            if !isRoot { options.callTimeout = .seconds(5) }
            let store = try PostgreSQLDatabase(text, options: options).store(for: "one")
            guard isRoot else {
                let error = try #require(await authError { try await store.load() })
                return #expect(error.isTemporary && error.message.contains("certificate"), "\(error)")
            }
            try await store.put(.sample("encrypted"))
            #expect(try server.sql("SELECT count(*) FROM pg_stat_ssl WHERE ssl") != "0")
            #expect(try await store.name == "encrypted")
        }
    }

    @Test func `without libpq, the error names the package`() async throws {
        var options = PostgreSQLDatabase.Options.quick
        options.library = "libpq-that-is-missing.so"
        let store = try PostgreSQLDatabase("", options: options).store(for: "one")
        let error = try #require(await authError { try await store.load() })
        #expect(error.storeProblem == .noLibrary && error.message.contains("libpq5"), "\(error)")
    }

    /// Without limits at the server, the caller gives up first, and each of its statements goes on.
    @Test func `a table that is locked is the reason in the error, and no statement goes on waiting`() async throws {
        try await Server.run { server in
            try await server.database().createTable()
            func store() throws -> PostgreSQLTokenStore {
                try server.database { $0.callTimeout = .seconds(6) }.store(for: "one")
            }
            let connected = try store()
            #expect(try await connected.load() == nil)
            let console = try server.console()
            console.write("BEGIN; LOCK TABLE appauth_session; SELECT 'locked';")
            _ = try await console.line { $0.contains("locked") }
            let new = try store()
            for call in [
                { _ = try await connected.load() }, { _ = try await new.load() },
                { _ = try await connected.refreshLock() },
            ] {
                let error = try #require(await authError(call))
                #expect(error.message.contains("lock timeout (55P03)") && error.isTemporary, "\(error)")
            }
            #expect(
                try server.sql(
                    "SELECT count(*) FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database "
                        + "WHERE datname = current_database())") == "0")
            console.write("ROLLBACK; BEGIN; LOCK TABLE appauth_session IN SHARE MODE; SELECT 'readable';")
            _ = try await console.line { $0.contains("readable") }
            // It reads the row, gets the lock, and cannot write its number.
            let error = try #require(await authError { _ = try await connected.refreshLock() })
            #expect(error.message.contains("lock timeout (55P03)") && error.isTemporary, "\(error)")
            console.write("ROLLBACK; SELECT 'unlocked';")
            _ = try await console.line { $0.contains("unlocked") }
            try await connected.refreshLock().release()
            try await connected.put(.sample("later"))
            #expect(try await connected.name == "later")
        }
    }

    @Test func `a server that cannot be reached is a temporary error, after the time for a call`() async throws {
        try await Server.run(isAlone: true) { server in
            try await server.database().createTable()
            try await server.crash()
            let store = try server.database { $0 = .quick }.store(for: "one")
            for call in [{ _ = try await store.load() }, { try await store.put(.sample()) }] {
                let error = try #require(await authError(call))
                #expect(error.isTemporary && error.message.contains("cannot be reached"), "\(error)")
            }
        }
    }
}

extension PostgreSQLDatabase.Options {
    /// Options for a test of a failure.
    static var quick: Self {
        var options = Self()
        options.callTimeout = .seconds(1)
        return options
    }
}
