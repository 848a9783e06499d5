CREATE TABLE orders (order_hash INT8 NOT NULL AS (mod(fnv32(order_id::STRING), 16)) STORED, order_id INT8 NOT NULL, PRIMARY KEY (order_hash, order_id));
CREATE TABLE bills (name STRING(40) NOT NULL, password_hash STRING(40), PRIMARY KEY (name));
