import Testing

/// A table that lets another role run code. Each is wrong in only that respect.
struct Intrusion: Sendable, CustomTestStringConvertible {
    /// What an administrator does before the service uses the table. MALLORY is the hostile role.
    let statement: String
    /// What the error names.
    let found: String
    var testDescription: String { statement }

    private init(_ statement: String, _ found: String) { (self.statement, self.found) = (statement, found) }

    private init(adding part: String, after statement: String = "", _ found: String) {
        self.init("\(statement); ALTER TABLE appauth_session ADD \(part)", found)
    }

    /// The hostile role has what a trusted role may have.
    static let ofOwners = [
        Intrusion("ALTER TABLE appauth_session OWNER TO MALLORY", ": the table '"),
        Intrusion("ALTER SCHEMA public OWNER TO MALLORY", ": the schema of '"),
        Intrusion("GRANT TRIGGER ON appauth_session TO MALLORY", ": the privilege TRIGGER for '"),
        Intrusion("GRANT REFERENCES ON appauth_session TO MALLORY", ": the privilege REFERENCES for '"),
        Intrusion("GRANT REFERENCES (key) ON appauth_session TO MALLORY", ": the privilege REFERENCES for '"),
    ]

    /// All roles have something, or a role that does not exist.
    static let ofOthers = [
        Intrusion("GRANT SELECT ON appauth_session TO PUBLIC", "belongs to the role 'PUBLIC'"),
        Intrusion("GRANT UPDATE (record) ON appauth_session TO PUBLIC", "belongs to the role 'PUBLIC'"),
        Intrusion(
            "UPDATE pg_class SET relowner = 9999 WHERE relname = 'appauth_session'", "belongs to the role '9999'"),
    ]

    /// The table has a trigger or a foreign key.
    static let ofTriggers = [
        Intrusion(
            """
            CREATE TRIGGER t BEFORE UPDATE ON appauth_session FOR EACH ROW
            EXECUTE FUNCTION suppress_redundant_updates_trigger()
            """, "'trigger t on table public.appauth_session'"),
        // It remains when the privilege is taken back, and its condition is SQL for functions of PostgreSQL itself.
        Intrusion(
            """
            GRANT TRIGGER ON appauth_session TO MALLORY; SET ROLE MALLORY;
            CREATE TRIGGER t BEFORE UPDATE ON appauth_session FOR EACH ROW
            WHEN (query_to_xml('SELECT mallory.touch(''d'')', true, true, '') IS NOT NULL)
            EXECUTE FUNCTION suppress_redundant_updates_trigger();
            RESET ROLE; REVOKE TRIGGER ON appauth_session FROM MALLORY
            """, "'trigger t on table public.appauth_session'"),
        Intrusion(
            adding: "UNIQUE (version) DEFERRABLE",
            "'constraint appauth_session_version_key on table public.appauth_session'"),
        Intrusion(
            adding: "x text REFERENCES tenant", after: "CREATE TABLE tenant (id text PRIMARY KEY)",
            "'constraint appauth_session_x_fkey on table public.appauth_session'"),
        Intrusion(
            adding: "x text REFERENCES appauth_session",
            "'constraint appauth_session_x_fkey on table public.appauth_session'"),
        // A check of this one runs as the owner of the table.
        Intrusion(
            """
            GRANT REFERENCES (key) ON appauth_session TO MALLORY; SET ROLE MALLORY;
            CREATE TABLE public.theirs (key text REFERENCES appauth_session);
            RESET ROLE; REVOKE REFERENCES (key) ON appauth_session FROM MALLORY
            """, "'constraint theirs_key_fkey on table public.theirs'"),
    ]

    /// The table has an expression that is not of `schema.sql`. What it runs cannot be read from the catalog.
    static let ofExpressions = [
        Intrusion(
            adding: "x boolean DEFAULT mallory.touch('d')",
            "'default value for column x of table public.appauth_session'"),
        Intrusion("ALTER TABLE appauth_session ALTER key_id SET DEFAULT ''", "'default value for column key_id of"),
        Intrusion(
            adding: "x boolean GENERATED ALWAYS AS (mallory.touch(key)) STORED", "'default value for column x of"),
        Intrusion(adding: "x serial", "'default value for column x of"),
        // Another role can have used up the sequence.
        Intrusion(adding: "x int8 GENERATED ALWAYS AS IDENTITY", "'identity column x'"),
        Intrusion(adding: "CONSTRAINT c CHECK (mallory.touch(key))", constraint),
        Intrusion(adding: "CONSTRAINT c CHECK (key <> '')", constraint),
        Intrusion(adding: "CONSTRAINT c CHECK (ARRAY[appauth_session] IS NOT NULL)", constraint),
        Intrusion(adding: "CONSTRAINT c CHECK (quote_literal(ARRAY[]::mallory.short[]) <> '')", constraint),
        Intrusion(
            adding: "CONSTRAINT c CHECK (query_to_xml('SELECT mallory.touch(''d'')', true, true, '') IS NOT NULL)",
            constraint),
        Intrusion("CREATE RULE r AS ON DELETE TO appauth_session DO ALSO NOTIFY deleted", "'rule r on table"),
        Intrusion("CREATE POLICY p ON appauth_session USING (mallory.touch(key))", "'policy p on table"),
        Intrusion("CREATE INDEX i ON appauth_session (mallory.touch(key))", "'index public.i'"),
        Intrusion("CREATE INDEX i ON appauth_session (key) WHERE mallory.touch(key)", "'index public.i'"),
        Intrusion(
            "CREATE STATISTICS s ON (mallory.touch(key)), key FROM appauth_session", "'statistics object public.s'"),
        Intrusion(adding: "CONSTRAINT c EXCLUDE USING btree (lower(key) WITH =)", "'index public.c'"),
    ]

    /// The table uses what does not belong to PostgreSQL itself.
    static let ofUses = [
        Intrusion(adding: "x mallory.short", "'type mallory.short'"),
        Intrusion(adding: "x ours[]", after: "CREATE TYPE ours AS ENUM ('a')", "'type public.ours[]'"),
        Intrusion(adding: "x ours", after: "CREATE DOMAIN ours AS text", "'type public.ours'"),
        Intrusion(adding: "x citext", after: "CREATE EXTENSION citext", "'type public.citext'"),
        Intrusion(
            "CREATE EXTENSION citext; ALTER EXTENSION citext ADD TABLE appauth_session", "'extension citext'"),
        Intrusion(
            """
            CREATE TYPE ours AS (key text, record bytea, key_id text, version int8, lock_number int8, changed_at timestamptz);
            ALTER TABLE appauth_session OF ours
            """, "'type public.ours'"),
        Intrusion(
            adding: "x text COLLATE ours", after: "CREATE COLLATION ours (LOCALE = 'C')", "'collation public.ours'"),
        Intrusion(
            "\(classOfText); CREATE INDEX ON appauth_session USING hash (key ours)", "'operator class public.ours for"),
        Intrusion(
            adding: "EXCLUDE USING hash (key ours WITH =)", after: classOfText, "'operator class public.ours for"),
        // The default has the text of the one in `schema.sql`, but for the schema of its function.
        Intrusion(
            """
            CREATE FUNCTION now() RETURNS timestamptz LANGUAGE sql AS 'SELECT pg_catalog.now()';
            ALTER TABLE appauth_session ALTER changed_at SET DEFAULT public.now()
            """, "'default value for column changed_at of"),
    ]

    private static let constraint = "'constraint c on table public.appauth_session'"

    private static let classOfText = """
        CREATE OPERATOR CLASS ours FOR TYPE text USING hash AS OPERATOR 1 =, FUNCTION 1 hashtext(text)
        """
}
