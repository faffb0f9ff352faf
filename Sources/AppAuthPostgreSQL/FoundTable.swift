internal import AppAuthProtocol
internal import JOSE

/// What the server has under the name of a table.
///
/// Another role of the database must not be able to let its code run as the role that uses the table, or replace the table. So
/// trusted roles must own the table and its schema, and only they may add to it. What an expression runs cannot be read from the
/// catalog: PostgreSQL chooses casts, operators and types by itself. So the table may have the expressions of `schema.sql` and no
/// other, no trigger and no foreign key, and nothing that does not belong to PostgreSQL itself. All this is checked whenever a
/// connection is opened.
struct FoundTable: Sendable {
    /// Where the table is, or where it would be created.
    let table: SessionTable
    /// Whether there is one.
    let exists: Bool
    let comment: String?
    /// Whether it is a table that remains, in place of a view or a temporary table, for example. The owners of partitions
    /// and of tables that inherit from it are not known here.
    private let isTable: Bool
    private let role: String
    /// What the table may not have: a trigger, for example, or something that does not belong to PostgreSQL itself.
    private let foreign: String?
    /// What roles have that are not always trusted: the table, for example.
    private let owned: [(what: String, role: String)]

    /// Sets what the connection needs from here on.
    ///
    /// - Parameters:
    ///   - schema: Where it is, or is to be created; nil for the role's own `search_path`.
    ///   - name: The name of the table alone.
    ///   - settings: Settings of the server for this connection.
    init(
        in schema: String?, _ name: String, on connection: Connection,
        setting settings: [(name: String, value: String)] = [], until deadline: ContinuousClock.Instant
    ) async throws {
        let identifier = [schema, name].compactMap { $0 }.map(SessionTable.quoted).joined(separator: ".")
        let place = try await connection.query(Self.place, [.text(identifier)], until: deadline).first
        let all = Self.settings + settings
        let calls = all.indices.map {
            "pg_catalog.set_config($\(2 * $0 + 1)::pg_catalog.text, $\(2 * $0 + 2)::pg_catalog.text, false)"
        }
        _ = try await connection.query(
            "SELECT " + calls.joined(separator: ", "), all.flatMap { [.text($0.0), .text($0.1)] }, until: deadline)
        let rows = try await connection.query(Self.find, [.bytes(place?.first ?? nil)], until: deadline)
        guard let row = rows.first, row.count == 9, let database = row[0], let role = row[1] else {
            throw DatabaseError(message: "the catalog has another form")
        }
        guard let schema = schema ?? row[2]?.text ?? place?.last??.text else {
            throw DatabaseError(state: "3F000", message: "the search_path has no schema for the table \(name)")
        }
        table = SessionTable(database: database.text, schema: schema, name: name)
        (exists, isTable) = (row[3] == [1], row[4] == [1])
        (comment, self.role, foreign) = (row[5]?.text, role.text, row[6]?.text)
        owned = rows.compactMap { row in
            if let what = row[7], let role = row[8] { (what.text, role.text) } else { nil }
        }
    }

    /// - Parameter trusted: Roles that may own the table, beside those that are always trusted.
    /// - Throws: ``AuthError`` with ``StoreProblem/denied`` for a table that lets other roles run code, and with
    ///   ``StoreProblem/damaged`` if it is no table.
    func check(_ place: String, trusted: Set<String>) throws {
        guard exists else {
            throw DatabaseError(state: "42P01", message: "the table \(table.identifier) does not exist")
        }
        // A set compares by canonical equivalence, by which two roles can have one name. PUBLIC would be every role.
        let isTrusted = { (role: String) in role != "PUBLIC" && trusted.contains { $0.isExactly(role) } }
        var reason: String?
        // The server returns them in any order. The owner of the table is said first, since the privileges may be from them: the
        // words are in this order when they are sorted backwards.
        if let owned = owned.filter({ !isTrusted($0.role) }).max(by: { ($0.what, $0.role) < ($1.what, $1.role) }) {
            reason = """
                \(owned.what) \(table.fullName.foundText) belongs to the role \(owned.role.foundText), which could run code as \
                \(role.foundText) or read the sessions. If that role is to be trusted, name it in trustedOwners. Otherwise, an \
                administrator has to drop what it has created, and the table with it, or to revoke the privilege
                """
        } else if !isTable {
            throw AuthError.database(
                place, .damaged,
                "expected a table, found at \(table.fullName.foundText) a view, or a table that is partitioned, inherits, is "
                    + "inherited, unlogged or temporary, for example")
        } else if let foreign {
            reason = """
                \(foreign.foundText) could let another role run code as \(role.foundText), or make each change fail. The table may \
                have no trigger, foreign key or identity column, no expression but those of schema.sql, and nothing that does \
                not belong to PostgreSQL itself. An administrator has to drop it, or what uses it
                """
        }
        guard let reason else { return }
        throw AuthError.database(place, .denied, "may not be used by the role \(role.foundText): \(reason)")
    }

    private static let settings = [
        // In the role's own path, other roles may be able to create operators and functions that fit better than those of
        // pg_catalog. pg_temp comes first if it is not named.
        ("search_path", "pg_catalog, pg_temp"),
        // So that the text of an expression is always the same.
        ("quote_all_identifiers", "off"),
        // A session that a policy hides would count as none.
        ("row_security", "off"),
        // Other roles can fill the catalogs. Then PostgreSQL would compile the statement below, or read whole catalogs.
        ("jit", "off"), ("enable_seqscan", "off"),
    ]

    /// The number of the table, and the schema where the role creates tables. `$1` the quoted identifier.
    private static let place =
        "SELECT pg_catalog.to_regclass($1::pg_catalog.text)::pg_catalog.oid, pg_catalog.current_schema()"

    /// A row for each owner that is not always trusted, and one if there is none. `$1` the number of the table.
    ///
    /// The owners that are always trusted are the role that has connected, superusers, and the database's owner. A role that it
    /// is a member of is not, not even as the current one: before PostgreSQL 15, each role can make others its members, and a
    /// setting that a former owner of the database has left chooses the current one.
    ///
    /// What other roles create must not make this slow. So it reads to what the parts of the table refer, and hardly what refers
    /// to them. And the number is a value, for which PostgreSQL does not expect as many rows as it has found for other tables.
    /// Each operator and function has arguments of exactly its types: no other one fits better.
    private static let find = """
        WITH found AS (
            SELECT relation.oid AS id, relowner, relacl, nspname, nspowner, relkind = 'r' AND relpersistence = 'p' AND NOT
                EXISTS (SELECT FROM pg_inherits WHERE inhparent = $1::oid OR inhrelid = $1::oid) AS is_table
            FROM pg_class AS relation JOIN pg_namespace AS schema ON schema.oid = relnamespace WHERE relation.oid = $1::oid),
        part(class, id, has_own_expression) AS (
            SELECT 'pg_class'::regclass::oid, $1::oid, false
            UNION ALL SELECT 'pg_attrdef'::regclass::oid, oid,
                (pg_get_expr(adbin, adrelid) = 'now()' OR pg_get_expr(adbin, adrelid) =
                '(("extract"(''epoch''::text, clock_timestamp()) * (1000000)::numeric))::bigint') IS NOT TRUE
                FROM pg_attrdef WHERE adrelid = $1::oid
            UNION ALL SELECT 'pg_class'::regclass::oid, indexrelid, indexprs IS NOT NULL OR indpred IS NOT NULL
                FROM pg_index WHERE indrelid = $1::oid
            UNION ALL SELECT 'pg_constraint'::regclass::oid, oid, conbin IS NOT NULL FROM pg_constraint WHERE conrelid = $1::oid
            UNION ALL SELECT 'pg_statistic_ext'::regclass::oid, oid, stxexprs IS NOT NULL
                FROM pg_statistic_ext WHERE stxrelid = $1::oid
            UNION ALL SELECT 'pg_rewrite'::regclass::oid, oid, true FROM pg_rewrite WHERE ev_class = $1::oid
            UNION ALL SELECT 'pg_policy'::regclass::oid, oid, true FROM pg_policy WHERE polrelid = $1::oid),
        refused(class, id) AS (
            SELECT class, id FROM part WHERE has_own_expression
            -- A foreign key to the table has triggers there if PostgreSQL enforces it.
            UNION ALL SELECT CASE WHEN tgisinternal THEN 'pg_constraint' ELSE 'pg_trigger' END::regclass::oid,
                CASE WHEN tgisinternal THEN tgconstraint ELSE oid END FROM pg_trigger WHERE tgrelid = $1::oid
            -- Since PostgreSQL 18, there are foreign keys that it does not enforce yet. They refer to an index of the table, to
            -- which hardly anything else does: the 1001st object that does counts as one.
            UNION ALL SELECT classid, objid FROM (
                SELECT classid, objid, row_number() OVER () AS place FROM pg_index JOIN LATERAL (
                    SELECT classid, objid FROM pg_depend WHERE refclassid = 'pg_class'::regclass::oid AND refobjid = indexrelid
                    ORDER BY refobjsubid LIMIT 1001) AS one ON true
                WHERE indrelid = $1::oid AND current_setting('server_version_num')::int4 >= 180000) AS referring
                WHERE place > 1000 OR classid = 'pg_constraint'::regclass::oid AND
                    (SELECT contype FROM pg_constraint WHERE oid = objid) = 'f'
            -- The numbers of what belongs to PostgreSQL itself are lower.
            UNION ALL SELECT refclassid, refobjid FROM part JOIN pg_depend ON classid = class AND objid = id
                WHERE refobjid >= 16384::oid AND refclassid <> 'pg_namespace'::regclass::oid AND
                    NOT EXISTS (SELECT FROM part AS own WHERE own.class = refclassid AND own.id = refobjid)),
        owned(what, owner) AS (
            SELECT 'the table', relowner FROM found
            UNION ALL SELECT 'the schema of', nspowner FROM found
            UNION ALL SELECT 'the privilege ' || privilege_type || ' for', grantee FROM (
                SELECT relacl FROM found UNION ALL SELECT attacl FROM pg_attribute WHERE attrelid = $1::oid AND NOT attisdropped) AS lists(acl)
                JOIN LATERAL aclexplode(acl) ON true
                WHERE grantee = 0::oid OR privilege_type = 'TRIGGER' OR privilege_type = 'REFERENCES'),
        untrusted(what, owner) AS (
            SELECT what, CASE WHEN owner = 0::oid THEN 'PUBLIC' ELSE COALESCE(rolname::text, owner::text) END
            FROM owned LEFT JOIN pg_roles AS role ON role.oid = owner
            WHERE (rolsuper OR rolname = SESSION_USER OR rolname = 'pg_database_owner' OR
                role.oid = (SELECT datdba FROM pg_database WHERE datname = current_database())) IS NOT TRUE)
        SELECT current_database(), CURRENT_USER, nspname, id IS NOT NULL, is_table,
            (SELECT description FROM pg_description WHERE objoid = id AND classoid = 'pg_class'::regclass::oid AND objsubid = 0),
            COALESCE(
                (SELECT COALESCE(pg_describe_object(class, refused.id, 0), refused.id::text) FROM refused LIMIT 1),
                -- Another role can use up its sequence.
                (SELECT 'identity column ' || attname::text FROM pg_attribute
                WHERE attrelid = $1::oid AND attidentity <> ''::"char" AND NOT attisdropped LIMIT 1)), what, owner
        FROM (VALUES (1)) AS one LEFT JOIN found ON true LEFT JOIN untrusted ON true
        """
}
