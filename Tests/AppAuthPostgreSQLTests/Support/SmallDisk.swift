/// A disk of a few megabytes on the server's machine, which has the table of the sessions. The rest of the server stays
/// where it was: a server that cannot write its log ends.
struct SmallDisk {
    private let server: Server

    init(of server: Server) throws {
        self.server = server
        try server.sql("CREATE TABLESPACE small LOCATION '\(server.disk)'")
        try server.sql("ALTER TABLE appauth_session SET TABLESPACE small")
    }

    /// Begins a transaction that sees what there is now, as a backup does. Until it ends, no write can use the space of
    /// older versions of a row. Otherwise, some writes would succeed on a full disk.
    func backup() async throws -> Program {
        // Now, what nothing sees any more goes.
        try server.sql("VACUUM appauth_session")
        let backup = try server.console()
        backup.write("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 'begun';")
        _ = try await backup.line { $0 == "begun" }
        return backup
    }

    /// Fills the disk, and then the pages of the table.
    func fill() throws {
        let insert = "INSERT INTO appauth_session (key, record) VALUES ('ballast/' || gen_random_uuid(), "
        try server.sql(
            """
            CREATE TABLE ballast (data text) TABLESPACE small; ALTER TABLE ballast ALTER data SET STORAGE PLAIN;
            DO $$ BEGIN
            \(Self.repeated("INSERT INTO ballast VALUES (repeat('x', 8000))"))
            \(Self.repeated(insert + "decode(repeat('00', 1900), 'hex'))"))
            \(Self.repeated(insert + "decode(repeat('00', 300), 'hex'))"))
            \(Self.repeated(insert + "NULL)"))
            END $$
            """)
    }

    private static func repeated(_ statement: String) -> String {
        "LOOP BEGIN \(statement); EXCEPTION WHEN disk_full THEN EXIT; END; END LOOP;"
    }

    func empty() throws {
        try server.sql("DROP TABLE ballast; DELETE FROM appauth_session WHERE key LIKE 'ballast/%'")
    }
}
