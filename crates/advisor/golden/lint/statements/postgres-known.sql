\restrict 4fQx
SET statement_timeout = 0;
SELECT pg_catalog.set_config('search_path', '', false);
CREATE EXTENSION IF NOT EXISTS pgcrypto WITH SCHEMA public;
COMMENT ON EXTENSION pgcrypto IS 'cryptography; functions';
CREATE SCHEMA app;
CREATE TYPE app.mood AS ENUM ('sad', 'ok');
CREATE DOMAIN app.short AS varchar(20) CHECK (VALUE <> '');
CREATE FUNCTION app.touch() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  CREATE TABL x;
  RETURN NEW; -- it's
END;
$body$;
CREATE FUNCTION app.two() RETURNS integer LANGUAGE sql BEGIN ATOMIC SELECT 1; SELECT 2; END;
CREATE TABLE app.people (id uuid PRIMARY KEY, name varchar(20));
CREATE OR REPLACE VIEW app.names AS SELECT name FROM app.people;
CREATE MATERIALIZED VIEW app.counts AS SELECT count(*) FROM app.people;
CREATE SEQUENCE app.numbers;
CREATE CONSTRAINT TRIGGER t AFTER INSERT ON app.people FOR EACH ROW EXECUTE FUNCTION app.touch();
CREATE POLICY p ON app.people;
CREATE RULE r AS ON DELETE TO app.people DO INSTEAD NOTHING;
CREATE PUBLICATION pub FOR ALL TABLES;
CREATE SUBSCRIPTION sub CONNECTION 'x' PUBLICATION pub;
CREATE STATISTICS s ON id, name FROM app.people;
CREATE TEXT SEARCH CONFIGURATION app.english (COPY = pg_catalog.english);
CREATE FOREIGN TABLE app.far (id bigint) SERVER elsewhere;
CREATE ROLE reader;
COPY app.people (id, name) FROM stdin;
0189c2a0-7b1e-7c3d-8f00-0123456789ab	it's; CREATE TABL \N
\.
ALTER DEFAULT PRIVILEGES IN SCHEMA app GRANT SELECT ON TABLES TO reader;
ALTER SEQUENCE app.numbers OWNED BY app.people.id;
ALTER SYSTEM SET work_mem = '1MB';
GRANT SELECT ON app.people TO reader;
REVOKE ALL ON SCHEMA app FROM PUBLIC;
DROP TABLE IF EXISTS app.old;
DROP OWNED BY reader;
DO $$ BEGIN PERFORM 1; END $$;
LISTEN news;
BEGIN;
COMMIT;
\unrestrict 4fQx
