-- The sessions of swift-appauth, schema 1. PostgreSQLDatabase.createTable() runs this file, with the name of its table in
-- place of appauth_session.
--
-- Neither number is ever given twice, even if a row is deleted and created again, or if a standby that lacks the latest
-- rows is promoted: each starts from the time in microseconds.
CREATE TABLE appauth_session (
    key text PRIMARY KEY,
    -- NULL if there is no session, for example after a sign-out.
    record bytea,
    -- The key that the record is encrypted with; NULL if it is not encrypted.
    key_id text,
    -- Changes with each write.
    version bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
    -- Changes with each grant of the refresh lock.
    lock_number bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
    changed_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE appauth_session IS 'swift-appauth schema 1';
