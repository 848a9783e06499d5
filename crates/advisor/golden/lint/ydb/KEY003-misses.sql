CREATE TABLE users (userid Uint64 NOT NULL, name Utf8, PRIMARY KEY (userid));
CREATE TABLE log (userid Uint64 NOT NULL, n BigSerial, PRIMARY KEY (userid, n));
