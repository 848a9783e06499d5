CREATE TABLE events (userid bigint NOT NULL, at timestamptz NOT NULL, what varchar(40), PRIMARY KEY (userid, at));
CREATE TABLE users (userid bigint NOT NULL, name varchar(40), PRIMARY KEY (userid));
CREATE INDEX events_what ON events (what);
-- queries
SELECT * FROM events WHERE userid = $1 ORDER BY at LIMIT 10;
SELECT * FROM events JOIN users ON users.userid = events.userid WHERE events.userid = $1;
SELECT * FROM events WHERE what = 'login' OR what IN ('a', 'b');
SELECT * FROM events WHERE what LIKE 'log%';
DELETE FROM events WHERE userid BETWEEN 1 AND 5;
SELECT * FROM (SELECT userid AS u, at FROM events) AS e WHERE e.u = 7;
WITH recent AS (SELECT * FROM events) SELECT * FROM recent WHERE userid = 7;
WITH events AS (SELECT 1 AS n) SELECT * FROM events;
SELECT name FROM users WHERE userid = 7 AND EXISTS (SELECT 1 FROM events WHERE events.userid = users.userid);
