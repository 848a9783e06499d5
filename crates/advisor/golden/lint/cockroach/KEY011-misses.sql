CREATE TABLE events (userid INT8 NOT NULL, created_at TIMESTAMPTZ NOT NULL, note_date STRING(40), PRIMARY KEY (userid, created_at));
