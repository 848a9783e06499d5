CREATE TABLE pages (page Uint64 NOT NULL, url Utf8, PRIMARY KEY (page));
