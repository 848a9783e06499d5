CREATE TABLE mails (box varchar(40) NOT NULL, subject varchar(40), PRIMARY KEY (box));
