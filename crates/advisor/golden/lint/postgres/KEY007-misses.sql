CREATE TABLE events (h bigint GENERATED ALWAYS AS (hashtext(userid)) STORED, userid varchar(40) NOT NULL, at timestamptz NOT NULL, PRIMARY KEY (h, userid, at));
