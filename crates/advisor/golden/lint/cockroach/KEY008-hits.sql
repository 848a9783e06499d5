CREATE TABLE events (at TIMESTAMPTZ NOT NULL, userid INT8 NOT NULL, what STRING(40), PRIMARY KEY (at, userid));
-- queries
SELECT * FROM events WHERE userid = $1;
SELECT count(*) FROM events e WHERE e.what = 'x';
UPDATE events SET what = 'x' WHERE userid = $1;
