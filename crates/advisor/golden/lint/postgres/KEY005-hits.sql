CREATE TABLE mails (box varchar(40) NOT NULL, attachment bytea, PRIMARY KEY (box));
CREATE TABLE pages (name varchar(40) NOT NULL, body text, PRIMARY KEY (name));
