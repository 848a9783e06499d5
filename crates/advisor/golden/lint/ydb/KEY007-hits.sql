CREATE TABLE events (
    userhash Uint64 GENERATED ALWAYS AS (HASH(at, userid)) STORED,
    userid Uint64 NOT NULL,
    at Timestamp NOT NULL,
    PRIMARY KEY (userhash, userid, at)
);
