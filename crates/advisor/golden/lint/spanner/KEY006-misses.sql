CREATE TABLE orders (order_hash INT64 NOT NULL AS (FARM_FINGERPRINT(CAST(order_id AS STRING))) STORED, order_id INT64 NOT NULL) PRIMARY KEY (order_hash, order_id);
CREATE TABLE bills (name STRING(40) NOT NULL, password_hash STRING(40)) PRIMARY KEY (name);
CREATE TABLE blobs (content_hash BYTES(32) NOT NULL, size INT64) PRIMARY KEY (content_hash);
CREATE TABLE sessions (token_hash STRING(64) NOT NULL, device INT64 NOT NULL) PRIMARY KEY (token_hash, device);
