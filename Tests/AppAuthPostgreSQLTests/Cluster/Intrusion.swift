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
            """, "'trigger t on table appauth_session'"),
        // It remains when the privilege is taken back, and its condition is SQL for functions of PostgreSQL itself.
        Intrusion(
            """
            GRANT TRIGGER ON appauth_session TO MALLORY; SET ROLE MALLORY;
            CREATE TRIGGER t BEFORE UPDATE ON appauth_session FOR EACH ROW
            WHEN (query_to_xml('SELECT mallory.touch(''d'')', true, true, '') IS NOT NULL)
            EXECUTE FUNCTION suppress_redundant_updates_trigger();
            RESET ROLE; REVOKE TRIGGER ON appauth_session FROM MALLORY
            """, "'trigger t on table appauth_session'"),
        Intrusion(
            adding: "UNIQUE (version) DEFERRABLE", "'constraint appauth_session_version_key on table appauth_session'"),
        Intrusion(
            adding: "x text REFERENCES tenant", after: "CREATE TABLE tenant (id text PRIMARY KEY)",
            "'constraint appauth_session_x_fkey on table appauth_session'"),
        Intrusion(
            adding: "x text REFERENCES appauth_session", "'constraint appauth_session_x_fkey on table appauth_session'"),
        // A check of this one runs as the owner of the table.
        Intrusion(
            """
            GRANT REFERENCES (key) ON appauth_session TO MALLORY; SET ROLE MALLORY;
            CREATE TABLE public.theirs (key text REFERENCES appauth_session);
            RESET ROLE; REVOKE REFERENCES (key) ON appauth_session FROM MALLORY
            """, "'constraint theirs_key_fkey on table theirs'"),
    ]

    /// The table uses what does not belong to PostgreSQL itself.
    static let ofUses = [
        Intrusion(adding: "x boolean DEFAULT mallory.touch('d')", function),
        Intrusion(adding: "x boolean GENERATED ALWAYS AS (mallory.touch(key)) STORED", function),
        Intrusion(adding: "CHECK (mallory.touch(key))", function),
        Intrusion(
            "CREATE RULE r AS ON UPDATE TO appauth_session WHERE mallory.touch(NEW.key) DO ALSO SELECT 1", function),
        Intrusion("CREATE POLICY p ON appauth_session USING (mallory.touch(key))", function),
        Intrusion("CREATE INDEX ON appauth_session (mallory.touch(key))", function),
        Intrusion("CREATE STATISTICS s ON (mallory.touch(key)), key FROM appauth_session", function),
        Intrusion(
            adding: "CHECK (ours())", after: "CREATE FUNCTION ours() RETURNS boolean LANGUAGE sql AS 'SELECT true'",
            "'function ours()'"),
        Intrusion(
            "CREATE TABLE ours (); CREATE POLICY p ON appauth_session USING (EXISTS (SELECT FROM ours))", "'table ours'"
        ),
        Intrusion(adding: "CHECK (key OPERATOR(mallory.===) key)", "'operator mallory.===(text,text)'"),
        Intrusion(adding: "x mallory.short", "'type mallory.short'"),
        Intrusion(adding: "x ours[]", after: "CREATE TYPE ours AS ENUM ('a')", "'type ours[]'"),
        Intrusion(adding: "x ours", after: "CREATE DOMAIN ours AS text", "'type ours'"),
        Intrusion(adding: "x citext", after: "CREATE EXTENSION citext", "'type citext'"),
        Intrusion(
            "CREATE EXTENSION citext; ALTER EXTENSION citext ADD TABLE appauth_session", "'extension citext'"),
        Intrusion(
            """
            CREATE TYPE ours AS (key text, record bytea, key_id text, version int8, lock_number int8, changed_at timestamptz);
            ALTER TABLE appauth_session OF ours
            """, "'type ours'"),
        Intrusion(
            adding: "x text COLLATE ours", after: "CREATE COLLATION ours (LOCALE = 'C')", "'collation ours'"),
        Intrusion("\(classOfText); CREATE INDEX ON appauth_session USING hash (key ours)", "'operator class ours for"),
        Intrusion(
            adding: "EXCLUDE USING hash (key ours WITH =)", after: classOfText, "'operator class ours for"),
        // Nothing says that a comparison of whole rows uses these.
        Intrusion(
            adding: "CHECK (ARRAY[appauth_session] <= ARRAY[appauth_session])",
            after: defaultClass(of: "appauth_session"),
            "'operator class theirs for"),
        Intrusion(
            adding: "CHECK (ARRAY[appauth_session] IS NOT NULL)", after: defaultClass(of: "appauth_session[]"),
            "'operator class theirs for"),
        // Nor that these functions look for a cast to text.
        Intrusion(
            adding: "CHECK ('x'::text || appauth_session <> '')", after: cast(of: "appauth_session"),
            "'cast from appauth_session to text'"),
        Intrusion(
            adding: "CHECK (quote_literal(ARRAY[appauth_session]) <> '')",
            after: cast(of: "appauth_session[]"),
            "'cast from appauth_session[] to text'"),
        // Nor what the type of an empty array is.
        Intrusion(
            adding: "CHECK (quote_literal(ARRAY[]::mallory.short[]) <> '')", after: cast(of: "mallory.short[]"),
            "'type mallory.short[]'"),
        Intrusion(
            """
            \(cast(of: "mallory.short[]"));
            CREATE POLICY p ON appauth_session USING (quote_literal(ARRAY[]::mallory.short[]) <> '')
            """, "'type mallory.short[]'"),
    ]

    private static let function = "'function mallory.touch(text)'"

    private static let classOfText = """
        CREATE OPERATOR CLASS ours FOR TYPE text USING hash AS OPERATOR 1 =, FUNCTION 1 hashtext(text)
        """

    /// A class with a function of the hostile role.
    private static func defaultClass(of type: String) -> String {
        """
        CREATE FUNCTION mallory.compare(\(type), \(type)) RETURNS int4 IMMUTABLE LANGUAGE plpgsql AS
        $$ BEGIN PERFORM mallory.touch('c'); RETURN 0; END $$; ALTER FUNCTION mallory.compare OWNER TO MALLORY;
        CREATE OPERATOR CLASS theirs DEFAULT FOR TYPE \(type) USING btree AS FUNCTION 1 mallory.compare(\(type), \(type))
        """
    }

    /// A cast with a function of the hostile role.
    private static func cast(of type: String) -> String {
        """
        CREATE FUNCTION mallory.text(\(type)) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
        $$ BEGIN PERFORM mallory.touch('c'); RETURN 'x'; END $$; ALTER FUNCTION mallory.text OWNER TO MALLORY;
        CREATE CAST (\(type) AS text) WITH FUNCTION mallory.text(\(type))
        """
    }
}
