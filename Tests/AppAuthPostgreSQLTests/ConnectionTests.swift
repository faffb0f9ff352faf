import AppAuth
import AppAuthPostgreSQL
import AppAuthProtocol
import AppAuthSession
import Foundation
import Testing
import TestFixtures

/// Whom the store connects to, with which password, and what its errors say.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct ConnectionTests {
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
}
