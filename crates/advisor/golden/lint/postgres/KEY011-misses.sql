CREATE TABLE events (userid bigint NOT NULL, created_at timestamptz NOT NULL, note_date varchar(40), PRIMARY KEY (userid, created_at));
