internal import AppAuthProtocol
internal import JOSE

/// What the server has under the name of a table.
///
/// Another role of the database must not be able to let its code run as the role that uses the table, or replace the table. So
/// trusted roles must own the table and its schema, and only they may add to it. What PostgreSQL chooses by itself for a type,
/// an operator or a foreign key is not in its catalog, so the table must have no foreign key, and use only what belongs to
/// PostgreSQL itself. Nor may it have a trigger, which has no owner. All this is checked whenever a connection is opened.
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
    /// A trigger or a foreign key, or something that the table uses and that does not belong to PostgreSQL itself.
    private let foreign: String?
    /// What roles have that are not always trusted: the table, for example.
    private let owned: [(what: String, role: String)]

    /// - Parameters:
    ///   - schema: Where it is, or is to be created; nil for the connection's `search_path`.
    ///   - name: The name of the table alone.
    init(
        in schema: String?, _ name: String, on connection: Connection, until deadline: ContinuousClock.Instant
    ) async throws {
        let identifier = [schema, name].compactMap { $0 }.map(SessionTable.quoted).joined(separator: ".")
        let numbers = try await connection.query(Self.numbers, [.text(identifier)], until: deadline).first
        let rows = try await connection.query(
            Self.find, (numbers ?? [nil, nil, nil]).map(DatabaseValue.init(bytes:)), until: deadline)
        guard let row = rows.first, row.count == 9, let database = row[0], let role = row[1] else {
            throw DatabaseError(message: "the catalog has another form")
        }
        guard let schema = schema ?? row[2]?.text else {
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
        guard isTable else {
            throw AuthError.database(
                place, .damaged,
                "expected a table, found a view, or a table that is partitioned, inherits, is inherited or temporary, for example"
            )
        }
        // A set compares by canonical equivalence, by which two roles can have one name. PUBLIC would be every role.
        let isTrusted = { (role: String) in role != "PUBLIC" && trusted.contains { $0.isExactly(role) } }
        let reason: String
        if let owned = owned.first(where: { !isTrusted($0.role) }) {
            reason = """
                \(owned.what) \(table.fullName.foundText) belongs to the role \(owned.role.foundText), which could run code as \
                \(role.foundText) or read the sessions. If that role is to be trusted, name it in trustedOwners. Otherwise, an \
                administrator has to drop what it has created, and the table with it, or to revoke the privilege
                """
        } else if let foreign {
            reason = """
                \(foreign.foundText) could let another role run code as \(role.foundText). The table may have no trigger and no \
                foreign key, and may use only what belongs to PostgreSQL itself. An administrator has to drop it, or what uses it
                """
        } else {
            return
        }
        throw AuthError.database(place, .denied, "may not be used by the role \(role.foundText): \(reason)")
    }

    /// The numbers of the table, of its row type, and of the type for arrays of its rows. `$1` the quoted identifier.
    private static let numbers = """
        SELECT relation.oid, reltype, typarray FROM pg_catalog.pg_class AS relation LEFT JOIN pg_catalog.pg_type AS type ON \
        type.oid \(eq) reltype WHERE relation.oid \(eq) pg_catalog.to_regclass($1::pg_catalog.text)::pg_catalog.oid
        """

    /// A row for each owner that is not always trusted, and one if there is none. `$1`, `$2` and `$3` the ``numbers``.
    ///
    /// The owners that are always trusted are the role itself, superusers, and the database's owner. A role that this one is
    /// a member of is not: before PostgreSQL 16, each role can make others its members.
    ///
    /// What other roles create must not make this slow. So it reads to what the parts of the table refer, and hardly what refers
    /// to them. And the numbers are values, for which PostgreSQL does not expect as many rows as it has found for other tables.
    private static let find = """
        WITH found AS (SELECT relation.oid AS id, relowner, relacl, nspname, nspowner, relkind \(eq) \
        'r'::pg_catalog."char" AND relpersistence OPERATOR(pg_catalog.<>) 't'::pg_catalog."char" AND NOT EXISTS (SELECT FROM \
        pg_catalog.pg_inherits WHERE inhparent \(eq) \(table) OR inhrelid \(eq) \(table)) AS is_table FROM \
        pg_catalog.pg_class AS relation JOIN pg_catalog.pg_namespace AS schema ON schema.oid \(eq) relnamespace WHERE \
        relation.oid \(eq) \(table)), \
        part(class, id, expressions) AS (\(parts.joined(separator: " UNION ALL "))), \
        foreign_to_it(class, id) AS (\(foreigners.joined(separator: " UNION ALL "))), \
        owned(what, owner) AS (SELECT 'the table'::pg_catalog.text, relowner FROM found UNION ALL SELECT 'the schema \
        of'::pg_catalog.text, nspowner FROM found UNION ALL SELECT 'the privilege '::pg_catalog.text OPERATOR(pg_catalog.||) \
        privilege_type OPERATOR(pg_catalog.||) ' for'::pg_catalog.text, grantee FROM (SELECT relacl FROM found UNION ALL \
        SELECT attacl FROM pg_catalog.pg_attribute WHERE attrelid \(eq) \(table)) AS lists(acl) JOIN LATERAL \
        pg_catalog.aclexplode(acl) ON true WHERE grantee \(eq) 0::pg_catalog.oid OR privilege_type \(eq) \
        'TRIGGER'::pg_catalog.text OR privilege_type \(eq) 'REFERENCES'::pg_catalog.text), \
        untrusted(what, owner) AS (SELECT what, CASE WHEN owner \(eq) 0::pg_catalog.oid THEN 'PUBLIC'::pg_catalog.text ELSE \
        COALESCE(rolname::pg_catalog.text, owner::pg_catalog.text) END FROM owned LEFT JOIN pg_catalog.pg_roles AS role ON \
        role.oid \(eq) owner WHERE (rolsuper OR rolname \(eq) CURRENT_USER OR rolname \(eq) \
        'pg_database_owner'::pg_catalog.name OR role.oid \(eq) (SELECT datdba FROM pg_catalog.pg_database WHERE datname \
        \(eq) pg_catalog.current_database())) IS NOT TRUE) \
        SELECT pg_catalog.current_database(), CURRENT_USER, COALESCE(nspname, pg_catalog.current_schema()), id IS NOT NULL, \
        is_table, (SELECT description FROM pg_catalog.pg_description WHERE objoid \(eq) id AND classoid \(eq) \
        \(number("pg_class")) AND objsubid \(eq) 0::pg_catalog.int4), (SELECT COALESCE(pg_catalog.pg_describe_object(class, \
        foreign_to_it.id, 0::pg_catalog.int4), foreign_to_it.id::pg_catalog.text) FROM foreign_to_it LIMIT 1), what, owner \
        FROM (VALUES (1)) AS one LEFT JOIN found ON true LEFT JOIN untrusted ON true
        """

    /// The parts of the table, with what PostgreSQL keeps of their expressions.
    private static let parts =
        [
            "SELECT \(number("pg_class")), \(table), NULL::pg_catalog.text",
            """
            SELECT \(number("pg_class")), indexrelid, pg_catalog.concat(indexprs, indpred) FROM pg_catalog.pg_index \
            WHERE indrelid \(eq) \(table)
            """,
        ]
        + [
            ("pg_attrdef", "adrelid", "adbin"), ("pg_constraint", "conrelid", "conbin"),
            ("pg_rewrite", "ev_class", "ev_qual, ev_action"), ("pg_policy", "polrelid", "polqual, polwithcheck"),
            ("pg_statistic_ext", "stxrelid", "stxexprs"),
        ].map { catalog, relation, expressions in
            """
            SELECT \(number(catalog)), oid, pg_catalog.concat(\(expressions)) FROM pg_catalog.\(catalog) \
            WHERE \(relation) \(eq) \(table)
            """
        }

    private static let foreigners = [
        // A foreign key to the table has triggers there if PostgreSQL enforces it.
        """
        SELECT CASE WHEN tgisinternal THEN \(number("pg_constraint")) ELSE \(number("pg_trigger")) END, \
        CASE WHEN tgisinternal THEN tgconstraint ELSE oid END FROM pg_catalog.pg_trigger WHERE tgrelid \(eq) \(table)
        """,
        // Since PostgreSQL 18, there are foreign keys that it does not enforce yet. They refer to an index of the table, to which
        // hardly anything else does: the 1001st object that does counts as one.
        """
        SELECT classid, objid FROM (SELECT classid, objid, pg_catalog.row_number() OVER () AS place FROM pg_catalog.pg_index \
        JOIN LATERAL (SELECT classid, objid FROM pg_catalog.pg_depend WHERE refclassid \(eq) \(number("pg_class")) AND \
        refobjid \(eq) indexrelid ORDER BY refobjsubid LIMIT 1001) AS one ON true WHERE indrelid \(eq) \(table) AND \
        pg_catalog.current_setting('server_version_num'::pg_catalog.text)::pg_catalog.int4 OPERATOR(pg_catalog.>=) \
        180000::pg_catalog.int4) AS referring WHERE place OPERATOR(pg_catalog.>) 1000::pg_catalog.int8 OR \
        classid \(eq) \(number("pg_constraint")) AND (SELECT contype FROM pg_catalog.pg_constraint WHERE oid \(eq) objid) \
        \(eq) 'f'::pg_catalog."char"
        """,
        // What pg_depend refers to, and then what PostgreSQL chooses without an entry there: for whole rows, an operator class
        // and a cast to one of its own types, and in expressions, some types: of an empty ARRAY[], and after RETURNING.
        """
        SELECT refclassid, refobjid FROM part JOIN pg_catalog.pg_depend ON classid \(eq) class AND objid \(eq) id WHERE \
        refobjid OPERATOR(pg_catalog.>=) \(foreign) AND refclassid OPERATOR(pg_catalog.<>) \(number("pg_namespace")) AND \
        NOT EXISTS (SELECT FROM part AS own WHERE own.class \(eq) refclassid AND own.id \(eq) refobjid)
        """,
        """
        SELECT \(number("pg_opclass")), oid FROM pg_catalog.pg_opclass WHERE opcintype \(eq) \(row) OR opcintype \(eq) \(rows)
        """,
        """
        SELECT \(number("pg_cast")), oid FROM pg_catalog.pg_cast WHERE (castsource \(eq) \(row) OR castsource \(eq) \(rows)) \
        AND casttarget OPERATOR(pg_catalog.<) \(foreign)
        """,
        """
        SELECT \(number("pg_type")), type FROM part JOIN LATERAL pg_catalog.regexp_matches(expressions, \
        ':[A-Za-z_]*typ(?:e|id|eid|eId) ([0-9]+)'::pg_catalog.text, 'g'::pg_catalog.text) AS one(match) ON true JOIN LATERAL \
        (SELECT match[1]::pg_catalog.oid) AS named(type) ON true WHERE type OPERATOR(pg_catalog.>=) \(foreign) AND \
        (type \(eq) \(row) OR type \(eq) \(rows)) IS NOT TRUE
        """,
    ]

    private static let eq = "OPERATOR(pg_catalog.=)"
    private static let (table, row, rows) = ("$1::pg_catalog.oid", "$2::pg_catalog.oid", "$3::pg_catalog.oid")
    /// The first number of what does not belong to PostgreSQL itself.
    private static let foreign = "16384::pg_catalog.oid"

    /// The number of a catalog, by which `pg_depend` names the kind of an object.
    private static func number(_ catalog: String) -> String {
        "'pg_catalog.\(catalog)'::pg_catalog.regclass::pg_catalog.oid"
    }
}
