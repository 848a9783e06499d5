CREATE TABLE orders (order_hash BIGINT AS (CRC32(order_id)) STORED, order_id BIGINT NOT NULL, PRIMARY KEY (order_hash, order_id));
CREATE TABLE bills (name VARCHAR(40) NOT NULL, password_hash VARCHAR(40), PRIMARY KEY (name));
CREATE TABLE blobs (content_hash BINARY(32) NOT NULL, size BIGINT, PRIMARY KEY (content_hash));
CREATE TABLE sessions (token_hash CHAR(64) NOT NULL, device BIGINT NOT NULL, PRIMARY KEY (token_hash, device));
