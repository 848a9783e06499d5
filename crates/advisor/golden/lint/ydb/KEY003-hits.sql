CREATE TABLE users (userid Uint64, name Utf8, PRIMARY KEY (userid));
