CREATE TABLE orders (order_hash Uint64 NOT NULL, order_id Uint64 NOT NULL, PRIMARY KEY (order_hash, order_id));
CREATE TABLE visits (userhash Uint64 NOT NULL, userid Uint64 NOT NULL, at Timestamp NOT NULL, PRIMARY KEY (userhash, userid, at));
CREATE TABLE blobs (content_hash String NOT NULL, size Uint64, PRIMARY KEY (content_hash));
CREATE TABLE sessions (token_hash Utf8 NOT NULL, device Uint64 NOT NULL, PRIMARY KEY (token_hash, device));
