CREATE TABLE jobs (worker Utf8 NOT NULL, at Timestamp NOT NULL, PRIMARY KEY (worker, at));
CREATE TABLE audit (userid Uint64 NOT NULL, at Timestamp NOT NULL, PRIMARY KEY (userid, at));
