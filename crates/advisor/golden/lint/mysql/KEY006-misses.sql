CREATE TABLE orders (order_hash BIGINT AS (CRC32(order_id)) STORED, order_id BIGINT NOT NULL, PRIMARY KEY (order_hash, order_id));
CREATE TABLE bills (name VARCHAR(40) NOT NULL, password_hash VARCHAR(40), PRIMARY KEY (name));
