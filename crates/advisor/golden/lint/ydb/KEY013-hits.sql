CREATE TABLE events (event_uuid7 Uuid NOT NULL, PRIMARY KEY (event_uuid7));
CREATE TABLE notes (userid Uint64 NOT NULL, id Uuid NOT NULL, PRIMARY KEY (userid, id));
