CREATE TABLE mails (mailbox Uint64 NOT NULL, subject Utf8, PRIMARY KEY (mailbox));
