CREATE TABLE events (at TIMESTAMP NOT NULL, userid INT64 NOT NULL, what STRING(40)) PRIMARY KEY (at, userid);
-- queries
SELECT * FROM events WHERE userid = @user;
SELECT count(*) FROM events e WHERE e.what = 'x';
UPDATE events SET what = 'x' WHERE userid = @user;
