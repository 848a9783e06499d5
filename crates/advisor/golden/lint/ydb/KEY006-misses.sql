CREATE TABLE orders (order_hash Uint64 NOT NULL, order_id Uint64 NOT NULL, PRIMARY KEY (order_hash, order_id));
CREATE TABLE visits (userhash Uint64 NOT NULL, userid Uint64 NOT NULL, at Timestamp NOT NULL, PRIMARY KEY (userhash, userid, at));
