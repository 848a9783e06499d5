CREATE TABLE events (at TIMESTAMP NOT NULL, userid INT64 NOT NULL, what STRING(40)) PRIMARY KEY (at, userid);
-- queries
SELECT * FROM events WHERE userid = @user;
SELECT count(*) FROM events e WHERE e.what = 'x';
UPDATE events SET what = 'x' WHERE userid = @user;
SELECT * FROM (SELECT * FROM events WHERE what = 'x') AS e WHERE e.userid = 7;
SELECT name FROM users WHERE userid IN (SELECT userid FROM events WHERE what = 'x');
WITH recent AS (SELECT userid FROM events WHERE what = 'x') SELECT * FROM recent;
INSERT INTO old (userid) SELECT userid FROM events WHERE what = 'x';
