CREATE TABLE pages (url text NOT NULL, hits bigint, PRIMARY KEY (url));
