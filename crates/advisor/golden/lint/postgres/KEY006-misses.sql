CREATE TABLE orders (order_hash bigint GENERATED ALWAYS AS (hashint8(order_id)) STORED, order_id bigint NOT NULL, PRIMARY KEY (order_hash, order_id));
CREATE TABLE bills (name varchar(40) NOT NULL, password_hash varchar(40), PRIMARY KEY (name));
