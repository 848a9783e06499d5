CREATE TABLE events (
    userhash Uint64 GENERATED ALWAYS AS (Digest::NumericHash(userid)) STORED,
    userid Uint64 NOT NULL,
    at Timestamp NOT NULL,
    PRIMARY KEY (userhash, userid, at)
);
