CREATE TABLE orders (order_hash BIGINT AS (CRC32(order_id)) STORED, order_id BIGINT NOT NULL, PRIMARY KEY (order_hash));
CREATE TABLE bills (bill_hash BIGINT NOT NULL, bill_id BIGINT NOT NULL, PRIMARY KEY (bill_hash, bill_id));
