CREATE TABLE events (at timestamptz NOT NULL, userid bigint NOT NULL, what varchar(40), PRIMARY KEY (at, userid));
-- queries
SELECT * FROM events WHERE userid = $1;
SELECT count(*) FROM events e WHERE e.what = 'x';
UPDATE events SET what = 'x' WHERE userid = $1;
