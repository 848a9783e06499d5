CREATE TABLE pages (url varchar(40) NOT NULL, body_id bigint, PRIMARY KEY (url));
