CREATE TABLE orders (order_hash INT8 NOT NULL AS (mod(fnv32(order_id::STRING), 16)) STORED, order_id INT8 NOT NULL, PRIMARY KEY (order_hash, order_id));
CREATE TABLE bills (name STRING(40) NOT NULL, password_hash STRING(40), PRIMARY KEY (name));
CREATE TABLE blobs (content_hash BYTES NOT NULL, size INT8, PRIMARY KEY (content_hash));
CREATE TABLE sessions (token_hash STRING(64) NOT NULL, device INT8 NOT NULL, PRIMARY KEY (token_hash, device));
