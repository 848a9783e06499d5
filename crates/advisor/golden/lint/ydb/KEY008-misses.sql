CREATE TABLE events (userid Uint64 NOT NULL, timestamp Timestamp NOT NULL, what Utf8, INDEX w GLOBAL ON (what), PRIMARY KEY (userid, timestamp));
-- queries
SELECT * FROM events WHERE userid = $user ORDER BY timestamp LIMIT 10;
SELECT * FROM events WHERE userid IN (1, 2) AND what LIKE '%x';
SELECT * FROM events LIMIT 10;
SELECT * FROM events VIEW w WHERE what = 'login';
DELETE FROM events WHERE userid = 7;
SELECT * FROM (SELECT userid AS u, timestamp FROM events) AS e WHERE e.u = 7;
WITH recent AS (SELECT * FROM events) SELECT * FROM recent WHERE userid = 7;
WITH events AS (SELECT 1 AS n) SELECT * FROM events;
SELECT name FROM users WHERE userid = 7 AND EXISTS (SELECT 1 FROM events WHERE events.userid = users.userid);
