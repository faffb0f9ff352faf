/// The disk of the server's machine, to which the table of the sessions was moved. The rest of the server stays where it
/// was: a server that cannot write its log ends.
struct SmallDisk {
    private let server: Server

    init(of server: Server) throws {
        self.server = server
        try server.sql("CREATE TABLESPACE small LOCATION '\(server.machine?.disk ?? "")'")
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

    /// Fills the disk, and then the pages of the table, with rows that become smaller than that of a session.
    func fill() throws {
        try server.machine?.resizeDisk(4)
        func repeated(_ statement: String) -> String {
            "LOOP BEGIN \(statement); number := number + 1; EXCEPTION WHEN disk_full THEN EXIT; END; END LOOP;"
        }
        let sizes = [1900, 300].map { "decode(repeat('00', \($0)), 'hex')" } + ["NULL"]
        let rows = sizes.map { repeated("INSERT INTO appauth_session (key, record) VALUES ('#' || number, \($0))") }
        try server.sql(
            """
            CREATE TABLE ballast (data text) TABLESPACE small; ALTER TABLE ballast ALTER data SET STORAGE PLAIN;
            DO $$ DECLARE number int := 0; BEGIN
            \(repeated("INSERT INTO ballast VALUES (repeat('x', 8000))")) \(rows.joined(separator: " "))
            END $$
            """)
    }

    func empty() throws {
        try server.sql("DROP TABLE ballast; DELETE FROM appauth_session WHERE key LIKE '#%'")
        try server.machine?.resizeDisk(64)
    }
}
