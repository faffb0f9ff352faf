internal import AppAuthProtocol
internal import JOSE

/// The SQL for a table of sessions. It contains the table's name, and all else is bound.
struct SessionTable: Sendable {
    /// The name as the app has given it, for messages.
    let name: String
    /// The quoted identifier.
    let identifier: String

    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` unless the name is `table` or `schema.table`, of
    ///   ASCII letters, digits and underscores, at most 63 each.
    init(_ name: String) throws {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        let isValid =
            (1...2).contains(parts.count)
            && parts.allSatisfy { part in
                (1...63).contains(part.utf8.count) && !(part.first?.isNumber ?? true)
                    && part.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
            }
        guard isValid else {
            throw AuthError(
                .invalidConfiguration, .configuration,
                "expected a table name such as appauth_session or app.session, found '\(name)'", outcome: .notSent)
        }
        self.name = name
        identifier = parts.map { "\"\($0)\"" }.joined(separator: ".")
    }

    /// The statements that create the table, for one process at a time.
    var schema: String {
        var result = "SELECT pg_advisory_xact_lock(\(advisoryLock("")));\n"
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
        SELECT CASE WHEN octet_length(record) <= $2::bigint THEN record END, key_id, version, lock_number, \
        octet_length(record)::bigint FROM \(identifier) WHERE key = $1::text
        """
    }

    /// Changes a row that is still as it was read. `$1` key, `$2` record, `$3` key ID, `$4` version, `$5` number of the lock or
    /// NULL, `$6` channel, `$7` payload. Returns a row if it did.
    var change: String {
        """
        WITH written AS (UPDATE \(identifier) SET record = $2::bytea, key_id = $3::text, \
        version = \(Self.next("version")), changed_at = now() WHERE key = $1::text AND version = $4::bigint \
        AND ($5::bigint IS NULL OR lock_number = $5::bigint) RETURNING key) \
        SELECT pg_notify($6::text, $7::text) FROM written
        """
    }

    /// Inserts a row if there is none. `$1` key, `$2` record, `$3` key ID, `$4` channel, `$5` payload. Returns a row if it did.
    var insert: String {
        """
        WITH written AS (INSERT INTO \(identifier) (key, record, key_id) VALUES ($1::text, $2::bytea, $3::text) \
        ON CONFLICT (key) DO NOTHING RETURNING key) SELECT pg_notify($4::text, $5::text) FROM written
        """
    }

    /// Gives the lock its next number. `$1` key.
    var grant: String {
        """
        INSERT INTO \(identifier) AS existing (key) VALUES ($1::text) ON CONFLICT (key) \
        DO UPDATE SET lock_number = \(Self.next("existing.lock_number")) RETURNING lock_number
        """
    }

    /// Describes the holder of an advisory lock. `$1` the lock.
    static let holder = """
        SELECT activity.application_name FROM pg_locks AS lock JOIN pg_stat_activity AS activity USING (pid) \
        WHERE lock.locktype = 'advisory' AND lock.granted AND lock.objsubid = 1 \
        AND lock.database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
        AND lock.classid::bigint = (($1::bigint >> 32) & 4294967295) \
        AND lock.objid::bigint = ($1::bigint & 4294967295)
        """

    /// A number that is larger than the previous one, and than all that a lost row had.
    private static func next(_ column: String) -> String {
        "GREATEST(\(column) + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"
    }

    /// The channel of notifications about this table. Any role of the database can listen to it.
    var channel: String { String(name.split(separator: ".").last ?? "") }

    /// The payload of a notification about a row. It does not reveal the key.
    func payload(_ key: String) -> String { Base64URL.encode(Array(digest(key).prefix(18))) }

    /// The number of the advisory lock of a row.
    func advisoryLock(_ key: String) -> Int64 { Array(digest(key).prefix(8)).integer }

    private func digest(_ key: String) -> [UInt8] { Digest.sha256.hash("swift-appauth \(name) \(key)") }
}
