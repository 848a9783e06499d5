CREATE TABLE orders (order_hash Uint64 NOT NULL, order_id Uint64 NOT NULL, PRIMARY KEY (order_hash, order_id)) WITH (UNIFORM_PARTITIONS = 8);
CREATE TABLE users (userid Uint64 NOT NULL, PRIMARY KEY (userid));
