CREATE TABLE events (userid BIGINT NOT NULL, created_at DATETIME NOT NULL, note_date VARCHAR(40), PRIMARY KEY (userid, created_at));
