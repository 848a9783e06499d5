CREATE TABLE orders (order_hash Uint64 NOT NULL, order_id Uint64 NOT NULL, PRIMARY KEY (order_hash, order_id));
CREATE TABLE files (id Uuid NOT NULL, PRIMARY KEY (id)) WITH (AUTO_PARTITIONING_BY_LOAD = ENABLED);
