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
        let rows = try await connection.query(Self.find, [.text(identifier)], until: deadline)
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

    /// A row for each owner that is not always trusted, and one if there is none. `$1` the quoted identifier.
    ///
    /// The owners that are always trusted are the role itself, superusers, and the database's owner. A role that this one is
    /// a member of is not: before PostgreSQL 16, each role can make others its members.
    ///
    /// What other roles create must not make this slow. So it reads to what the parts of the table refer, not what refers to
    /// them: a foreign key to the table that PostgreSQL enforces has triggers there. It also reads the operator classes, which
    /// only superusers can create: `pg_depend` lacks the use of one for a whole row.
    private static let find = """
        WITH found AS (SELECT relation.oid AS id, relowner, relacl, reltype, nspname, nspowner, relkind \(eq) \
        'r'::pg_catalog."char" AND relpersistence OPERATOR(pg_catalog.<>) 't'::pg_catalog."char" AND NOT EXISTS (SELECT FROM \
        pg_catalog.pg_inherits WHERE inhparent \(eq) relation.oid OR inhrelid \(eq) relation.oid) AS is_table FROM \
        pg_catalog.pg_class AS relation JOIN pg_catalog.pg_namespace AS schema ON schema.oid \(eq) relnamespace WHERE \
        relation.oid \(eq) pg_catalog.to_regclass($1::pg_catalog.text)::pg_catalog.oid), \
        part(class, id) AS (SELECT \(number("pg_class")), id FROM found UNION ALL SELECT \(number("pg_class")), indexrelid \
        FROM found JOIN pg_catalog.pg_index ON indrelid \(eq) id \(part("pg_attrdef", "adrelid")) \
        \(part("pg_constraint", "conrelid")) \(part("pg_rewrite", "ev_class")) \(part("pg_policy", "polrelid")) \
        \(part("pg_statistic_ext", "stxrelid"))), \
        foreign_to_it(class, id) AS (SELECT CASE WHEN tgisinternal THEN \(number("pg_constraint")) ELSE \
        \(number("pg_trigger")) END, CASE WHEN tgisinternal THEN tgconstraint ELSE pg_trigger.oid END FROM found JOIN \
        pg_catalog.pg_trigger ON tgrelid \(eq) found.id UNION ALL SELECT \(number("pg_opclass")), opclass.oid FROM found \
        JOIN pg_catalog.pg_type ON pg_type.oid \(eq) reltype JOIN pg_catalog.pg_opclass AS opclass ON opcintype \(eq) \
        reltype OR opcintype \(eq) typarray UNION ALL SELECT refclassid, refobjid FROM part JOIN pg_catalog.pg_depend ON \
        classid \(eq) class AND objid \(eq) id WHERE refobjid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid AND refclassid \
        OPERATOR(pg_catalog.<>) \(number("pg_namespace")) AND NOT EXISTS (SELECT FROM part AS own WHERE own.class \(eq) \
        refclassid AND own.id \(eq) refobjid)), \
        owned(what, owner) AS (SELECT 'the table'::pg_catalog.text, relowner FROM found UNION ALL SELECT 'the schema \
        of'::pg_catalog.text, nspowner FROM found UNION ALL SELECT 'the privilege '::pg_catalog.text OPERATOR(pg_catalog.||) \
        privilege_type OPERATOR(pg_catalog.||) ' for'::pg_catalog.text, grantee FROM (SELECT relacl FROM found UNION ALL \
        SELECT attacl FROM found JOIN pg_catalog.pg_attribute ON attrelid \(eq) id) AS lists(acl) JOIN LATERAL \
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

    private static let eq = "OPERATOR(pg_catalog.=)"

    /// The number of a catalog, by which `pg_depend` names the kind of an object.
    private static func number(_ catalog: String) -> String {
        "'pg_catalog.\(catalog)'::pg_catalog.regclass::pg_catalog.oid"
    }

    /// The parts of the table that are in a catalog.
    private static func part(_ catalog: String, _ table: String) -> String {
        """
        UNION ALL SELECT \(number(catalog)), part.oid FROM found \
        JOIN pg_catalog.\(catalog) AS part ON part.\(table) \(eq) found.id
        """
    }
}
