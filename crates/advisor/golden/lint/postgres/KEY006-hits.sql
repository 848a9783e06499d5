CREATE TABLE orders (order_hash bigint GENERATED ALWAYS AS (hashint8(order_id)) STORED, order_id bigint NOT NULL, PRIMARY KEY (order_hash));
CREATE TABLE bills (bill_hash bigint NOT NULL, bill_id bigint NOT NULL, PRIMARY KEY (bill_hash, bill_id));
