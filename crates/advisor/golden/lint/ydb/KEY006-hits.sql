CREATE TABLE orders (order_hash Uint64 NOT NULL, order_id Uint64 NOT NULL, PRIMARY KEY (order_hash));
CREATE TABLE visits (userhash Uint64 NOT NULL, userid Uint64, at Timestamp NOT NULL, PRIMARY KEY (userhash, at));
