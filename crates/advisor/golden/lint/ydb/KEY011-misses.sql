CREATE TABLE events (userid Uint64 NOT NULL, created_at Timestamp NOT NULL, note_date Utf8, PRIMARY KEY (userid, created_at));
