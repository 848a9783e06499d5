CREATE TABLE events (at DATETIME NOT NULL, userid BIGINT NOT NULL, what VARCHAR(40), PRIMARY KEY (at, userid));
-- queries
SELECT * FROM events WHERE userid = ?;
SELECT count(*) FROM events e WHERE e.what = 'x';
UPDATE events SET what = 'x' WHERE userid = ?;
