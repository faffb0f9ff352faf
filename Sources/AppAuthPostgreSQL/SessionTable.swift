internal import AppAuthProtocol
internal import JOSE

/// The SQL for a table of sessions. It contains the table's name, and all else is bound.
///
/// Each type, operator and function is named with its schema, since another role of the database may be able to create
/// objects in a schema of the `search_path`. For the same reason, nothing is used that PostgreSQL expands to an operator
/// without a schema: `IN`, `BETWEEN`, `USING`, `CASE value WHEN`.
struct SessionTable: Sendable {
    /// The names of the database, the schema and the table, quoted where necessary.
    let fullName: String
    /// The quoted identifier of the schema and the table.
    let identifier: String
    let schemaName: String
    private let name: String

    init(database: String, schema: String, name: String) {
        (schemaName, self.name) = (schema, name)
        fullName = [database, schema, name].map(Self.quotedIfNecessary).joined(separator: ".")
        identifier = [schema, name].map(Self.quoted).joined(separator: ".")
    }

    /// The statements that create the table.
    var schema: String {
        var result = ""
        var rest = String(decoding: PackageResources.schema_sql, as: UTF8.self)[...]
        while let range = rest.firstRange(of: "appauth_session") {
            result += rest[..<range.lowerBound] + identifier
            rest = rest[range.upperBound...]
        }
        return result + rest
    }

    /// The comment of the table that ``schema`` creates.
    static let comment = "swift-appauth schema 1"

    /// `$1` key, `$2` the largest record.
    var read: String {
        """
        SELECT CASE WHEN pg_catalog.octet_length(record)::pg_catalog.int8 OPERATOR(pg_catalog.<=) $2::pg_catalog.int8 \
        THEN record END, key_id, version, lock_number, pg_catalog.octet_length(record)::pg_catalog.int8 \
        FROM \(identifier) WHERE key OPERATOR(pg_catalog.=) $1::pg_catalog.text
        """
    }

    /// Changes a row that is still as it was read. `$1` key, `$2` record, `$3` key ID, `$4` version, `$5` number of the lock or
    /// NULL. Returns a row if it did.
    var change: String {
        """
        UPDATE \(identifier) SET record = $2::pg_catalog.bytea, key_id = $3::pg_catalog.text, \
        version = \(Self.next("version")), changed_at = pg_catalog.now() \
        WHERE key OPERATOR(pg_catalog.=) $1::pg_catalog.text AND version OPERATOR(pg_catalog.=) $4::pg_catalog.int8 \
        AND ($5::pg_catalog.int8 IS NULL OR lock_number OPERATOR(pg_catalog.=) $5::pg_catalog.int8) RETURNING key
        """
    }

    /// Inserts a row if there is none. `$1` key, `$2` record, `$3` key ID. Returns a row if it did.
    var insert: String {
        """
        INSERT INTO \(identifier) (key, record, key_id) \
        VALUES ($1::pg_catalog.text, $2::pg_catalog.bytea, $3::pg_catalog.text) \
        ON CONFLICT (key) DO NOTHING RETURNING key
        """
    }

    /// Reports a change. `$1` channel, `$2` payload. It is never in the transaction of the change: each role of the server can
    /// fill the queue for all notifications, and the transaction would then fail. Or it can send so many that all others wait,
    /// with a lock, and without the limit of `statement_timeout`, since they wait at their ends.
    static let notify = """
        SELECT pg_catalog.set_config('lock_timeout'::pg_catalog.text, '1000'::pg_catalog.text, true), \
        pg_catalog.pg_notify($1::pg_catalog.text, $2::pg_catalog.text)
        """

    /// Gives the lock its next number. `$1` key.
    var grant: String {
        """
        INSERT INTO \(identifier) AS existing (key) VALUES ($1::pg_catalog.text) ON CONFLICT (key) \
        DO UPDATE SET lock_number = \(Self.next("existing.lock_number")) RETURNING lock_number
        """
    }

    /// Acquires an advisory lock. `$1` the lock.
    static let lock = "SELECT pg_catalog.pg_advisory_lock($1::pg_catalog.int8)"

    /// Describes the holder of an advisory lock. `$1` the lock.
    static let holder = """
        SELECT activity.application_name \
        FROM pg_catalog.pg_locks AS lock JOIN pg_catalog.pg_stat_activity AS activity \
        ON activity.pid OPERATOR(pg_catalog.=) lock.pid \
        WHERE lock.locktype OPERATOR(pg_catalog.=) 'advisory'::pg_catalog.text AND lock.granted \
        AND lock.objsubid OPERATOR(pg_catalog.=) 1::pg_catalog.int2 \
        AND lock.database OPERATOR(pg_catalog.=) (SELECT oid FROM pg_catalog.pg_database \
        WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database()) \
        AND lock.classid::pg_catalog.int8 OPERATOR(pg_catalog.=) (($1::pg_catalog.int8 OPERATOR(pg_catalog.>>) \
        32::pg_catalog.int4) OPERATOR(pg_catalog.&) 4294967295::pg_catalog.int8) \
        AND lock.objid::pg_catalog.int8 OPERATOR(pg_catalog.=) \
        ($1::pg_catalog.int8 OPERATOR(pg_catalog.&) 4294967295::pg_catalog.int8)
        """

    /// Whether this role may write. `$1` the quoted identifier.
    static let mayWrite = """
        SELECT pg_catalog.has_table_privilege($1::pg_catalog.text, 'INSERT'::pg_catalog.text) \
        AND pg_catalog.has_table_privilege($1::pg_catalog.text, 'UPDATE'::pg_catalog.text)
        """

    /// A number that is larger than the previous one, and than all that a lost row had.
    private static func next(_ column: String) -> String {
        """
        GREATEST(\(column) OPERATOR(pg_catalog.+) 1::pg_catalog.int8, \
        (pg_catalog.extract('epoch'::pg_catalog.text, pg_catalog.clock_timestamp()) \
        OPERATOR(pg_catalog.*) 1000000::pg_catalog.numeric)::pg_catalog.int8)
        """
    }

    /// The channel of notifications about this table. Any role of the database can listen to it.
    var channel: String { name }

    /// The payload of a notification about a row. It does not show the key, but confirms one that is guessed.
    func payload(_ key: String) -> String { Base64URL.encode(Array(digest(key).prefix(18))) }

    /// The number of the advisory lock of a row. It is not secret: the server shows the locks that are held to all roles.
    func advisoryLock(_ key: String) -> Int64 { Array(digest(key).prefix(8)).integer }

    private func digest(_ key: String) -> [UInt8] { Digest.sha256.hash("swift-appauth \(identifier) \(key)") }

    private static func quotedIfNecessary(_ name: String) -> String {
        name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") } ? name : quoted(name)
    }

    static func quoted(_ name: String) -> String {
        "\"\(name.replacing { $0 == "\"" ? "\"\"" : nil })\""
    }
}
