CREATE TABLE events (userid INT64 NOT NULL, created_at TIMESTAMP NOT NULL, note_date STRING(40)) PRIMARY KEY (userid, created_at);
