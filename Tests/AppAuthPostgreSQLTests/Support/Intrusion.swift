/// A table of another role, or one that uses what another role owns. Each is wrong in only that respect.
enum Intrusion: String, CaseIterable {
    case table, schema, view, `default`, generated, check, rule, policy, index, `operator`, type,
        inherited, domain, statistics, composite, grantOfTrigger, grantToAll, grantOfColumn,
        functionOfOperator, estimator, negator, commutator, negatorOfPostgreSQL, operatorClass, operatorOfClass, family,
        range,
        defaultClass, classOfType, exclusion, castOfType, castOfPostgreSQL

    /// Whether every role may do something with the table.
    var isOfAll: Bool { self == .grantToAll || self == .grantOfColumn }

    /// What a hostile role has owned before the administrator gave the table to the service.
    var statement: String {
        switch self {
        case .table: "ALTER TABLE appauth_session OWNER TO MALLORY"
        case .schema: "ALTER SCHEMA public OWNER TO MALLORY"
        case .view: "ALTER TABLE appauth_session RENAME TO base; CREATE VIEW appauth_session AS TABLE base"
        case .default: "ALTER TABLE appauth_session ADD x boolean DEFAULT mallory.touch('d')"
        case .generated:
            "ALTER TABLE appauth_session ADD x boolean GENERATED ALWAYS AS (mallory.touch(key)) STORED"
        case .check: "ALTER TABLE appauth_session ADD CHECK (mallory.touch(key))"
        case .rule:
            "CREATE RULE r AS ON UPDATE TO appauth_session WHERE mallory.touch(NEW.key) DO ALSO SELECT 1"
        case .policy:
            """
            ALTER TABLE appauth_session ENABLE ROW LEVEL SECURITY;
            CREATE POLICY p ON appauth_session USING (mallory.touch(key))
            """
        case .index: "CREATE INDEX ON appauth_session (mallory.touch(key))"
        case .operator: "ALTER TABLE appauth_session ADD CHECK (key OPERATOR(mallory.===) key)"
        case .type: "ALTER TABLE appauth_session ADD x mallory.short"
        case .statistics: "CREATE STATISTICS s ON (mallory.touch(key)), key FROM appauth_session"
        case .composite:
            """
            CREATE DOMAIN mallory.late AS text; CREATE TYPE pair AS (x mallory.late);
            ALTER DOMAIN mallory.late OWNER TO MALLORY;
            ALTER TABLE appauth_session ADD x boolean DEFAULT (NULL::pair IS NULL)
            """
        case .grantOfTrigger: "GRANT TRIGGER ON appauth_session TO MALLORY"
        case .grantToAll: "GRANT SELECT ON appauth_session TO PUBLIC"
        case .grantOfColumn: "GRANT UPDATE (record) ON appauth_session TO PUBLIC"
        case .functionOfOperator:
            """
            CREATE OPERATOR !== (FUNCTION = mallory.touch, LEFTARG = text, RIGHTARG = text);
            ALTER TABLE appauth_session ADD CHECK (key !== key)
            """
        case .estimator:
            """
            CREATE FUNCTION mallory.estimate(internal, oid, internal, int4) RETURNS float8 LANGUAGE internal AS 'eqsel';
            ALTER FUNCTION mallory.estimate OWNER TO MALLORY;
            CREATE OPERATOR !== (FUNCTION = texteq, LEFTARG = text, RIGHTARG = text, RESTRICT = mallory.estimate);
            ALTER TABLE appauth_session ADD CHECK (key !== key)
            """
        // The planner replaces NOT a !== b by a === b.
        case .negator:
            """
            CREATE OPERATOR !== (FUNCTION = textne, LEFTARG = text, RIGHTARG = text, NEGATOR = OPERATOR(mallory.===));
            ALTER TABLE appauth_session ADD CHECK (NOT key !== key)
            """
        case .commutator:
            """
            CREATE OPERATOR <<< (FUNCTION = texteq, LEFTARG = text, RIGHTARG = text, COMMUTATOR = OPERATOR(mallory.===));
            ALTER TABLE appauth_session ADD CHECK (key <<< key)
            """
        case .negatorOfPostgreSQL:
            """
            CREATE OPERATOR !^@ (FUNCTION = mallory.touch, LEFTARG = text, RIGHTARG = text, NEGATOR = OPERATOR(pg_catalog.^@));
            ALTER TABLE appauth_session ADD CHECK (NOT key ^@ 'x')
            """
        case .operatorClass: "\(Self.classOfText) CREATE INDEX ON appauth_session (key ours)"
        case .operatorOfClass: "\(Self.classOfOperator) CREATE INDEX ON appauth_session USING hash (key ours)"
        case .family:
            """
            CREATE OPERATOR FAMILY ours USING hash; ALTER OPERATOR FAMILY ours USING hash OWNER TO MALLORY;
            CREATE OPERATOR CLASS ours FOR TYPE text USING hash FAMILY ours AS OPERATOR 1 =, FUNCTION 1 hashtext(text);
            CREATE INDEX ON appauth_session USING hash (key ours)
            """
        case .range:
            """
            \(Self.classOfText) CREATE TYPE span AS RANGE (SUBTYPE = text, SUBTYPE_OPCLASS = ours);
            ALTER TABLE appauth_session ADD x boolean DEFAULT (span('a', 'b') IS NULL)
            """
        // Nothing depends on this class.
        case .defaultClass:
            """
            \(Self.compare("json")) CREATE OPERATOR CLASS ours DEFAULT FOR TYPE json USING btree
            AS FUNCTION 1 mallory.compare(json, json);
            ALTER TABLE appauth_session ADD x boolean DEFAULT (ARRAY['1'::json] < ARRAY['2'::json])
            """
        case .classOfType:
            """
            CREATE TYPE mood AS ENUM ('a', 'b');
            \(Self.compare("mood")) CREATE OPERATOR CLASS ours DEFAULT FOR TYPE mood USING btree
            AS FUNCTION 1 mallory.compare(mood, mood);
            ALTER TABLE appauth_session ADD x boolean DEFAULT (ARRAY['a'::mood] < ARRAY['b'::mood])
            """
        case .exclusion:
            """
            \(Self.classOfOperator)
            ALTER TABLE appauth_session ADD EXCLUDE USING hash (key ours WITH OPERATOR(mallory.====))
            """
        case .castOfType:
            """
            CREATE TYPE mood AS ENUM ('a', 'b'); CREATE FUNCTION mallory.mood(text) RETURNS mood LANGUAGE plpgsql AS
            $$ BEGIN PERFORM mallory.touch($1); RETURN 'a'; END $$; ALTER FUNCTION mallory.mood OWNER TO MALLORY;
            CREATE CAST (text AS mood) WITH FUNCTION mallory.mood AS ASSIGNMENT;
            ALTER TABLE appauth_session ADD x mood
            """
        case .castOfPostgreSQL:
            """
            CREATE FUNCTION mallory.bytes(text) RETURNS bytea LANGUAGE plpgsql AS
            $$ BEGIN PERFORM mallory.touch($1); RETURN 'a'; END $$; ALTER FUNCTION mallory.bytes OWNER TO MALLORY;
            CREATE CAST (text AS bytea) WITH FUNCTION mallory.bytes AS ASSIGNMENT
            """
        case .domain:
            "CREATE DOMAIN ours AS text CHECK (mallory.touch(VALUE)); ALTER TABLE appauth_session ADD x ours"
        case .inherited:
            """
            CREATE FUNCTION ours(text) RETURNS boolean IMMUTABLE BEGIN ATOMIC SELECT mallory.touch($1); END;
            ALTER TABLE appauth_session ADD CHECK (ours(key))
            """
        }
    }

    /// A function of the hostile role that compares.
    private static func compare(_ type: String) -> String {
        """
        CREATE FUNCTION mallory.compare(\(type), \(type)) RETURNS int4 IMMUTABLE LANGUAGE plpgsql AS
        $$ BEGIN PERFORM mallory.touch('c'); RETURN bttextcmp($1::text, $2::text); END $$;
        ALTER FUNCTION mallory.compare OWNER TO MALLORY;
        """
    }

    /// Classes of the administrator's, with a function and with an operator of the hostile role.
    private static let classOfText = """
        \(compare("text")) CREATE OPERATOR CLASS ours FOR TYPE text USING btree AS
        OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 mallory.compare(text, text);
        """
    private static let classOfOperator = """
        CREATE OPERATOR mallory.==== (FUNCTION = texteq, LEFTARG = text, RIGHTARG = text, COMMUTATOR = OPERATOR(mallory.====));
        ALTER OPERATOR mallory.==== (text, text) OWNER TO MALLORY;
        CREATE OPERATOR CLASS ours FOR TYPE text USING hash AS OPERATOR 1 mallory.====, FUNCTION 1 hashtext(text);
        """
}
