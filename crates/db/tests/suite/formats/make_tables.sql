CREATE TABLE people (
    id bigint PRIMARY KEY,
    name text NOT NULL,
    born date,
    balance numeric(12, 2),
    notes jsonb,
    seen timestamptz,
    token bytea,
    weight double precision,
    active boolean DEFAULT true
);
CREATE UNIQUE INDEX people_by_name ON people (name);
CREATE SEQUENCE tickets START 100 INCREMENT 5;
CREATE TABLE orders (
    id serial PRIMARY KEY,
    person bigint NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    ticket bigint DEFAULT nextval('tickets'),
    amount integer CHECK (amount > 0)
);
CREATE INDEX orders_by_person ON orders (person);
CREATE TABLE events (userid Uint64 NOT NULL, at Timestamp NOT NULL, event Utf8, PRIMARY KEY (userid, at));
ALTER TABLE events SPLIT AT (10), (20);
CREATE TABLE loaded (id bigint PRIMARY KEY, name text);
CREATE TABLE dropped (id bigint PRIMARY KEY);
INSERT INTO dropped VALUES (1), (2);
INSERT INTO people SELECT i, 'person ' || i::text, '2000-01-01'::date, i * 1.25, NULL, NULL, NULL, i / 2.0, true FROM generate_series(1, 16) g(i);
INSERT INTO orders (person, amount) SELECT i, 10 * i FROM generate_series(1, 8) g(i);
INSERT INTO events SELECT (i * 3)::uint64, Timestamp('2024-01-01T00:00:00Z'), 'event ' || i::text FROM generate_series(1, 9) g(i);
DELETE FROM people WHERE id > 14;
UPDATE people SET name = 'renamed' WHERE id = 7;
DROP TABLE dropped;
