CREATE TABLE orders (order_hash INT8 NOT NULL AS (mod(fnv32(order_id::STRING), 16)) STORED, order_id INT8 NOT NULL, PRIMARY KEY (order_hash));
CREATE TABLE bills (bill_hash INT8 NOT NULL, bill_id INT8 NOT NULL, PRIMARY KEY (bill_hash, bill_id));
