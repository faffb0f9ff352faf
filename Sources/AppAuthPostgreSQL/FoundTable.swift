internal import AppAuthProtocol
internal import JOSE

/// What the server has under the name of a table.
///
/// The owner of a table can let each statement run code of its choice as the role that executes it, for example with a
/// default. So can the owner of a function that it calls, and the owner of the schema can replace the table. So all of them
/// are checked whenever a connection is opened. A trigger has no owner: any role may have made it that once had the privilege,
/// and its condition and arguments can be SQL for functions of PostgreSQL itself. So there must be none.
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
    private let trigger: String?
    /// The owners of the table and of what it uses.
    private let owners: [Owner]

    private struct Owner: Sendable {
        /// What the role owns: the kind, and the name if it has one.
        let what: String
        let role: String
    }

    /// - Parameters:
    ///   - schema: Where it is, or is to be created; nil for the connection's `search_path`.
    ///   - name: The name of the table alone.
    init(
        in schema: String?, _ name: String, on connection: Connection, until deadline: ContinuousClock.Instant
    ) async throws {
        let identifier = [schema, name].compactMap { $0 }.map(SessionTable.quoted).joined(separator: ".")
        let rows = try await connection.query(Self.find, [.text(identifier)], until: deadline)
        guard let row = rows.first, row.count == 11, let database = row[0], let role = row[1] else {
            throw DatabaseError(message: "the catalog has another form")
        }
        guard let schema = schema ?? row[2]?.text else {
            throw DatabaseError(state: "3F000", message: "the search_path has no schema for the table \(name)")
        }
        table = SessionTable(database: database.text, schema: schema, name: name)
        (exists, isTable) = (row[3] == [1], row[4] == [1])
        (comment, self.role, trigger) = (row[5]?.text, role.text, row[10]?.text)
        owners = rows.compactMap { row in
            guard row[9] == [0], let kind = row[6], let role = row[8] else { return nil }
            let what = row[7].map { "\(kind.text) \($0.text.foundText)" } ?? kind.text
            return Owner(what: what, role: role.text)
        }
    }

    /// - Parameter trusted: Roles that may own the table, and what it uses, beside those that are always trusted.
    /// - Throws: ``AuthError`` with ``StoreProblem/denied`` for another role's table, and with ``StoreProblem/damaged`` if it
    ///   is no table.
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
        if let trigger {
            throw AuthError.database(
                place, .denied,
                """
                may not be used by the role \(role.foundText): the trigger \(trigger.foundText) could run code as that role, and \
                PostgreSQL does not say who has made it. The owner of the table has to drop it
                """)
        }
        // A set compares by canonical equivalence, by which two roles can have one name. PUBLIC would be every role.
        let isTrusted = { (role: String) in role != "PUBLIC" && trusted.contains { $0.isExactly(role) } }
        guard let owner = owners.first(where: { !isTrusted($0.role) }) else { return }
        throw AuthError.database(
            place, .denied,
            """
            may not be used by the role \(role.foundText): \(owner.what) belongs to the role \(owner.role.foundText), which could run code \
            as \(role.foundText) or read the sessions. If that role is to be trusted, name it in trustedOwners. Otherwise, an \
            administrator has to drop what it has created, and the table with it, or to revoke the privilege
            """)
    }

    /// A row for each owner, and one if there is none. `$1` the quoted identifier.
    ///
    /// The owners that are always trusted are the role itself, superusers, and the database's owner. A role that this one is
    /// a member of is not: before PostgreSQL 16, each role can make others its members.
    ///
    /// The table uses what it depends on, and what PostgreSQL chooses for that by itself (``chosen``): for an operator, its
    /// negator and commutator; for a type, the members of operator classes and the casts. The objects of PostgreSQL itself
    /// have no entries in `pg_depend`, so all of them count as used. Only a superuser or the owner of an object can add
    /// something that is chosen for it: no other role can make the check fail so.
    private static let find = """
        WITH RECURSIVE found AS (SELECT pg_catalog.to_regclass($1::pg_catalog.text)::pg_catalog.oid AS id), \
        chosen(class, id, by_class, by_id) AS (SELECT * FROM (\
        \(chosen("pg_operator", "oprcom", by: "pg_operator", "oid")) \
        UNION ALL \(chosen("pg_operator", "oprnegate", by: "pg_operator", "oid")) \
        UNION ALL \(chosen("pg_amop", "oid", by: "pg_type", "GREATEST(amoplefttype, amoprighttype)")) \
        UNION ALL \(chosen("pg_amproc", "oid", by: "pg_type", "GREATEST(amproclefttype, amprocrighttype)")) \
        UNION ALL \(chosen("pg_cast", "oid", by: "pg_type", "GREATEST(castsource, casttarget)")) \
        WHERE LEAST(castsource, casttarget) OPERATOR(pg_catalog.<) \(firstID)\
        ) AS links(class, id, by_class, by_id) WHERE id OPERATOR(pg_catalog.>=) \(firstID)), \
        used(class, id) AS (\
        SELECT 'pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid, id FROM found \
        \(part("pg_class", "indexrelid", of: "pg_index", "indrelid")) \
        \(part("pg_attrdef", "oid", of: "pg_attrdef", "adrelid")) \
        \(part("pg_constraint", "oid", of: "pg_constraint", "conrelid")) \
        \(part("pg_rewrite", "oid", of: "pg_rewrite", "ev_class")) \
        \(part("pg_policy", "oid", of: "pg_policy", "polrelid")) \
        \(part("pg_statistic_ext", "oid", of: "pg_statistic_ext", "stxrelid")) \
        UNION ALL SELECT class, id FROM chosen WHERE by_id OPERATOR(pg_catalog.<) \(firstID) \
        UNION SELECT next.* FROM used JOIN LATERAL (SELECT refclassid, refobjid FROM pg_catalog.pg_depend \
        WHERE classid OPERATOR(pg_catalog.=) class AND objid OPERATOR(pg_catalog.=) id \
        AND deptype OPERATOR(pg_catalog.<>) 'e'::pg_catalog."char" \
        UNION ALL SELECT chosen.class, chosen.id FROM chosen WHERE by_class OPERATOR(pg_catalog.=) used.class \
        AND by_id OPERATOR(pg_catalog.=) used.id \
        UNION ALL SELECT 'pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid, typrelid \
        FROM pg_catalog.pg_type WHERE oid OPERATOR(pg_catalog.=) id \
        AND class OPERATOR(pg_catalog.=) 'pg_catalog.pg_type'::pg_catalog.regclass::pg_catalog.oid \
        UNION ALL SELECT 'pg_catalog.pg_constraint'::pg_catalog.regclass::pg_catalog.oid, oid \
        FROM pg_catalog.pg_constraint WHERE contypid OPERATOR(pg_catalog.=) id \
        AND class OPERATOR(pg_catalog.=) 'pg_catalog.pg_type'::pg_catalog.regclass::pg_catalog.oid) AS next ON true), \
        owned(kind, name, owner) AS (\
        SELECT 'its schema'::pg_catalog.text, nspname, nspowner FROM found JOIN pg_catalog.pg_class AS relation \
        ON relation.oid OPERATOR(pg_catalog.=) id JOIN pg_catalog.pg_namespace AS schema \
        ON schema.oid OPERATOR(pg_catalog.=) relnamespace \
        \(owned("pg_class", "relowner", "the table, view or index", "relname")) \
        \(owned("pg_proc", "proowner", "the function", "proname")) \
        \(owned("pg_operator", "oprowner", "the operator", "oprname")) \
        \(owned("pg_type", "typowner", "the type", "typname")) \
        \(owned("pg_opclass", "opcowner", "the operator class", "opcname")) \
        \(owned("pg_opfamily", "opfowner", "the operator family", "opfname")) \
        \(owned("pg_collation", "collowner", "the collation", "collname")) \
        UNION ALL SELECT 'the privilege '::pg_catalog.text OPERATOR(pg_catalog.||) privilege_type, NULL, grantee \
        FROM found JOIN LATERAL (SELECT acl FROM (SELECT relacl FROM pg_catalog.pg_class \
        WHERE pg_class.oid OPERATOR(pg_catalog.=) found.id UNION ALL SELECT attacl FROM pg_catalog.pg_attribute \
        WHERE attrelid OPERATOR(pg_catalog.=) found.id) AS lists(acl)) AS lists ON true \
        JOIN LATERAL pg_catalog.aclexplode(acl) ON true \
        WHERE grantee OPERATOR(pg_catalog.=) 0::pg_catalog.oid OR privilege_type OPERATOR(pg_catalog.=) 'TRIGGER'::pg_catalog.text) \
        SELECT pg_catalog.current_database(), CURRENT_USER, \
        CASE WHEN relation.oid IS NULL THEN pg_catalog.current_schema() ELSE schema.nspname END, \
        relation.oid IS NOT NULL, \
        relation.relkind OPERATOR(pg_catalog.=) 'r'::pg_catalog."char" \
        AND relation.relpersistence OPERATOR(pg_catalog.<>) 't'::pg_catalog."char" \
        AND NOT EXISTS (SELECT FROM pg_catalog.pg_inherits WHERE inhparent OPERATOR(pg_catalog.=) relation.oid \
        OR inhrelid OPERATOR(pg_catalog.=) relation.oid), \
        description, kind, owned.name, CASE WHEN owner OPERATOR(pg_catalog.=) 0::pg_catalog.oid THEN 'PUBLIC'::pg_catalog.name ELSE role.rolname END, \
        COALESCE(role.rolsuper OR role.rolname OPERATOR(pg_catalog.=) CURRENT_USER \
        OR role.rolname OPERATOR(pg_catalog.=) 'pg_database_owner'::pg_catalog.name \
        OR role.oid OPERATOR(pg_catalog.=) (SELECT datdba FROM pg_catalog.pg_database \
        WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database()), owner IS NULL), \
        (SELECT tgname FROM pg_catalog.pg_trigger WHERE tgrelid OPERATOR(pg_catalog.=) id AND NOT tgisinternal LIMIT 1) \
        FROM found LEFT JOIN pg_catalog.pg_class AS relation ON relation.oid OPERATOR(pg_catalog.=) id \
        LEFT JOIN pg_catalog.pg_namespace AS schema ON schema.oid OPERATOR(pg_catalog.=) relation.relnamespace \
        LEFT JOIN pg_catalog.pg_description ON objoid OPERATOR(pg_catalog.=) id \
        AND classoid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid \
        AND objsubid OPERATOR(pg_catalog.=) 0::pg_catalog.int4 \
        LEFT JOIN owned ON true LEFT JOIN pg_catalog.pg_roles AS role ON role.oid OPERATOR(pg_catalog.=) owner
        """

    /// The first number of an object that does not belong to PostgreSQL itself (FirstNormalObjectId).
    private static let firstID = "16384::pg_catalog.oid"

    /// What PostgreSQL chooses for another object. Of two types, the later one decides: those of PostgreSQL come first.
    private static func chosen(_ class: String, _ id: String, by: String, _ byID: String) -> String {
        """
        SELECT 'pg_catalog.\(`class`)'::pg_catalog.regclass::pg_catalog.oid, \(id), \
        'pg_catalog.\(by)'::pg_catalog.regclass::pg_catalog.oid, \(byID) FROM pg_catalog.\(`class`)
        """
    }

    /// The parts of the table that have entries of their own in the catalog.
    private static func part(_ class: String, _ id: String, of catalog: String, _ table: String) -> String {
        """
        UNION ALL SELECT 'pg_catalog.\(`class`)'::pg_catalog.regclass::pg_catalog.oid, part.\(id) \
        FROM found JOIN pg_catalog.\(catalog) AS part ON part.\(table) OPERATOR(pg_catalog.=) found.id
        """
    }

    /// The owners of what the table uses. What is in the schema `pg_catalog` has no entries in `pg_depend`.
    private static func owned(_ catalog: String, _ owner: String, _ kind: String, _ name: String) -> String {
        """
        UNION ALL SELECT '\(kind)'::pg_catalog.text, \(name), \(owner) \
        FROM used JOIN pg_catalog.\(catalog) AS catalog ON catalog.oid OPERATOR(pg_catalog.=) id \
        WHERE class OPERATOR(pg_catalog.=) 'pg_catalog.\(catalog)'::pg_catalog.regclass::pg_catalog.oid
        """
    }
}
