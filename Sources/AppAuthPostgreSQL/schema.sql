-- The sessions of swift-appauth, schema 1. PostgreSQLDatabase.createTable() runs this file, with the schema and name of its
-- table in place of the one below. No comment may name it: a name can contain a line break, at which a comment ends.
--
-- Neither number is ever given twice, even if a row is deleted and created again, or if a standby that lacks the latest
-- rows is promoted: each starts from the time in microseconds.
--
-- Each type, operator and function is named with its schema. Otherwise, another role that may create objects in a schema
-- of the search_path could put its own in place of it, which each write would then run.
CREATE TABLE appauth_session (
    key pg_catalog.text PRIMARY KEY,
    -- NULL if there is no session, for example after a sign-out.
    record pg_catalog.bytea,
    -- The key that the record is encrypted with; NULL if it is not encrypted.
    key_id pg_catalog.text,
    -- Changes with each write.
    version pg_catalog.int8 NOT NULL DEFAULT (
        pg_catalog.extract('epoch'::pg_catalog.text, pg_catalog.clock_timestamp())
        OPERATOR(pg_catalog.*) 1000000::pg_catalog.numeric)::pg_catalog.int8,
    -- Changes with each grant of the refresh lock.
    lock_number pg_catalog.int8 NOT NULL DEFAULT (
        pg_catalog.extract('epoch'::pg_catalog.text, pg_catalog.clock_timestamp())
        OPERATOR(pg_catalog.*) 1000000::pg_catalog.numeric)::pg_catalog.int8,
    changed_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now()
);
COMMENT ON TABLE appauth_session IS 'swift-appauth schema 1';
