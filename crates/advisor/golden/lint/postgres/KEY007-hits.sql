CREATE TABLE events (h bigint GENERATED ALWAYS AS (hashtext(concat(userid, at))) STORED, userid varchar(40) NOT NULL, at timestamptz NOT NULL, PRIMARY KEY (h, userid, at));
