CREATE TABLE events (timestamp Timestamp NOT NULL, userid Uint64 NOT NULL, what Utf8, PRIMARY KEY (timestamp, userid));
-- queries
SELECT * FROM events WHERE userid = $user;
SELECT COUNT(*) FROM events;
UPDATE events SET what = 'x' WHERE what = 'y';
DELETE FROM events WHERE userid = 7 OR timestamp < CurrentUtcTimestamp() AND what = 'x' OR userid > 3;
SELECT * FROM (SELECT * FROM events WHERE what = 'x') AS e WHERE e.userid = 7;
SELECT name FROM users WHERE userid IN (SELECT userid FROM events WHERE what = 'x');
WITH recent AS (SELECT userid FROM events WHERE what = 'x') SELECT * FROM recent;
INSERT INTO old (userid) SELECT userid FROM events WHERE what = 'x';
