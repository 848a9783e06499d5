CREATE TABLE orders (order_hash INT64 NOT NULL AS (FARM_FINGERPRINT(CAST(order_id AS STRING))) STORED, order_id INT64 NOT NULL) PRIMARY KEY (order_hash);
CREATE TABLE bills (bill_hash INT64 NOT NULL, bill_id INT64 NOT NULL) PRIMARY KEY (bill_hash, bill_id);
