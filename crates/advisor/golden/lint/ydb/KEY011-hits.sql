CREATE TABLE events (userid Uint64 NOT NULL, created_at Utf8 NOT NULL, PRIMARY KEY (userid, created_at));
CREATE TABLE bills (customer Uint64 NOT NULL, bill_no String NOT NULL, PRIMARY KEY (customer, bill_no));
