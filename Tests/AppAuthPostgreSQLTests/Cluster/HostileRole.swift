import AppAuth
import AppAuthPostgreSQL
import AppAuthProtocol
import AppAuthSession
import Testing

/// A role of the database that may create objects in the schema `public`, as every role may in PostgreSQL 14, and that
/// wants to run code as the role of the service.
struct HostileRole {
    let server: Server
    let name: String
    /// The role of the service, with the rights that the article names.
    let service: String

    /// Creates the two roles.
    ///
    /// - Parameter path: The service's `search_path`; nil for the server's default.
    init(of server: Server, path: String? = nil) throws {
        (self.server, name, service) = (server, "mallory_\(server.name)", "billing_\(server.name)")
        try server.sql(
            """
            CREATE ROLE \(name) LOGIN PASSWORD 'm'; CREATE ROLE \(service) LOGIN PASSWORD 'b';
            GRANT CREATE ON SCHEMA public TO \(name);
            """)
        if let path { try server.sql("ALTER ROLE \(service) SET search_path = \(path)") }
    }

    /// Runs a test with a server and a hostile role there, and removes the role.
    static func run(path: String? = nil, _ test: (Server, HostileRole) async throws -> Void) async throws {
        try await Server.run { server in
            let role = try HostileRole(of: server, path: path)
            let result: Result<Void, any Error>
            do { result = .success(try await test(server, role)) } catch { result = .failure(error) }
            try role.remove()
            try result.get()
        }
    }

    /// Grants the service what it needs.
    func admit() throws { try server.sql("GRANT SELECT, INSERT, UPDATE ON appauth_session TO \(service)") }

    var connection: String { server.connection(role: service, password: "b") }

    /// Runs SQL as the hostile role.
    func run(_ statement: String) throws { try server.sql("SET SESSION AUTHORIZATION \(name); \(statement)") }

    /// Runs SQL as the service does in psql.
    func runAsService(_ statement: String) throws {
        try server.sql("SET SESSION AUTHORIZATION \(service); \(statement)")
    }

    /// Creates functions, an operator and a type in the schema `mallory`, which belong to the hostile role. They note
    /// when they run as another role.
    func ownFunctions() throws {
        try server.sql(
            """
            CREATE SCHEMA mallory; GRANT USAGE ON SCHEMA mallory TO PUBLIC;
            CREATE SEQUENCE mallory.touched; GRANT ALL ON mallory.touched TO PUBLIC;
            CREATE FUNCTION mallory.touch(text) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS
            $$ BEGIN IF session_user <> 'app' THEN PERFORM nextval('mallory.touched'); END IF; RETURN true; END $$;
            CREATE FUNCTION mallory.touch(text, text) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS
            $$ BEGIN RETURN mallory.touch($1); END $$;
            CREATE OPERATOR mallory.=== (FUNCTION = mallory.touch, LEFTARG = text, RIGHTARG = text);
            CREATE DOMAIN mallory.short AS text CHECK (mallory.touch(VALUE));
            ALTER FUNCTION mallory.touch(text) OWNER TO \(name); ALTER FUNCTION mallory.touch(text, text) OWNER TO \(name);
            ALTER OPERATOR mallory.=== (text, text) OWNER TO \(name);
            ALTER DOMAIN mallory.short OWNER TO \(name);
            """)
    }

    /// Removes the roles, which belong to the whole server.
    func remove() throws {
        try server.sql("DROP OWNED BY \(name), \(service) CASCADE; DROP ROLE \(name), \(service)")
    }

    /// A function that notes that it has run as the service. The number is kept even if the transaction is rolled back.
    func layTrap() throws {
        try run(
            """
            CREATE TABLE public.hits (what text); GRANT ALL ON public.hits TO PUBLIC;
            CREATE SEQUENCE public.hit_count; GRANT ALL ON public.hit_count TO PUBLIC;
            CREATE FUNCTION public.hit(what text) RETURNS boolean LANGUAGE plpgsql SET search_path = pg_catalog AS
            $$ BEGIN IF session_user = '\(service)' THEN PERFORM nextval('public.hit_count');
            INSERT INTO public.hits VALUES (what); END IF; RETURN true; END $$;
            """)
    }

    /// How often something of the hostile role has run as the service, and what it was as far as it is known.
    func hits() throws -> String {
        try server.sql(
            """
            SELECT (CASE WHEN is_called THEN last_value ELSE 0 END)::text FROM public.hit_count
            UNION ALL SELECT DISTINCT what FROM public.hits
            """)
    }

    /// Puts a namesake of each operator, function, type and relation of `pg_catalog` into `public`, and each operator
    /// also for the pairs of types for which `pg_catalog` has none.
    func layTraps() throws {
        try layTrap()
        try run(
            """
            \(Self.functions) \(Self.operators) \(Self.relations) \(Self.types)
            """)
    }

    /// Runs a statement for each row of a query. Some cannot be created, for example for pseudo-types.
    private static func each(_ query: String, _ statement: String) -> String {
        """
        DO $do$ DECLARE row record; BEGIN FOR row IN \(query) LOOP
        BEGIN EXECUTE \(statement); EXCEPTION WHEN OTHERS THEN NULL; END; END LOOP; END $do$;
        """
    }

    private static let functions = each(
        """
        SELECT proname AS name, pg_catalog.pg_get_function_identity_arguments(oid) AS arguments,
        CASE WHEN proretset THEN 'SETOF ' ELSE '' END || pg_catalog.format_type(prorettype, NULL) AS result
        FROM pg_catalog.pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind = 'f'
        """,
        """
        format($f$ CREATE FUNCTION public.%I(%s) RETURNS %s LANGUAGE plpgsql AS
        $$ BEGIN PERFORM public.hit(%L); RETURN NULL; END $$ $f$,
        row.name, row.arguments, row.result, 'function ' || row.name)
        """)

    private static let operators = each(
        """
        WITH types(id) AS (SELECT unnest('{text,int4,int8,numeric,float8,oid,name,bytea,timestamptz,jsonb}'::regtype[])),
        names(name) AS (SELECT unnest('{*,+,-,/,%,=,<>,<,>,<=,>=,||,->,->>,>>,<<,&,|,#,~,~~}'::text[])),
        known AS (SELECT oprname::text AS name, oprleft::oid AS one, oprright::oid AS two, oprresult::oid AS result
        FROM pg_catalog.pg_operator WHERE oprkind = 'b')
        SELECT name, one::regtype, two::regtype, result::regtype FROM known
        UNION ALL SELECT name, one.id, two.id, CASE WHEN name ~ '[=<>~]' AND name !~ '<<|>>|->' THEN 'bool' ELSE one.id END
        FROM names, types AS one, types AS two
        WHERE NOT EXISTS (SELECT FROM known WHERE known.name = names.name AND known.one = one.id AND known.two = two.id)
        """,
        """
        format($f$ CREATE FUNCTION public.%2$I(%3$s, %4$s) RETURNS %5$s LANGUAGE plpgsql AS
        $$ BEGIN PERFORM public.hit(%2$L); RETURN NULL; END $$;
        CREATE OPERATOR public.%1$s (FUNCTION = public.%2$I, LEFTARG = %3$s, RIGHTARG = %4$s) $f$,
        row.name, 'operator ' || row.name, row.one, row.two, row.result)
        """)

    private static let relations = each(
        """
        SELECT relname AS name FROM pg_catalog.pg_class WHERE relnamespace = 'pg_catalog'::regnamespace
        AND relkind IN ('r', 'v')
        """,
        """
        format('CREATE VIEW public.%1$I AS SELECT * FROM pg_catalog.%1$I WHERE public.hit(%2$L);
        GRANT SELECT ON public.%1$I TO PUBLIC', row.name, 'relation ' || row.name)
        """)

    private static let types = each(
        """
        SELECT typname AS name FROM pg_catalog.pg_type WHERE typnamespace = 'pg_catalog'::regnamespace
        AND typtype = 'b' AND typname !~ '^_'
        """,
        """
        format('CREATE DOMAIN public.%1$I AS pg_catalog.%1$I CHECK (public.hit(%2$L))', row.name, 'type ' || row.name)
        """)
}

extension PostgreSQLTokenStore {
    /// Executes each kind of statement of a store.
    func useAll() async throws {
        try await prepare()
        #expect(try await load() == nil)
        for name in ["inserted", "changed"] {
            try await put(.sample(name))
            #expect(try await self.name == name)
        }
        var reports = changes.makeAsyncIterator()
        await reports.next()
        let lock = try await refreshLock()
        #expect(await refreshLockHolder() != nil)
        try await update(TokenStoreCall(grant: lock.grant)) { $0 = try .sample("under the lock") }
        await reports.next()
        lock.release()
        try await put(nil)
    }
}
