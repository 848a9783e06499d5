CREATE TABLE mails (mailbox Uint64 NOT NULL, body String, PRIMARY KEY (mailbox));
CREATE TABLE files (owner Uint64 NOT NULL, file_content Utf8, PRIMARY KEY (owner));
