CREATE TABLE orders (order_hash bigint GENERATED ALWAYS AS (hashint8(order_id)) STORED, order_id bigint NOT NULL, PRIMARY KEY (order_hash, order_id));
CREATE TABLE bills (name varchar(40) NOT NULL, password_hash varchar(40), PRIMARY KEY (name));
CREATE TABLE blobs (content_hash bytea NOT NULL, size bigint, PRIMARY KEY (content_hash));
CREATE TABLE sessions (token_hash varchar(64) NOT NULL, device bigint NOT NULL, PRIMARY KEY (token_hash, device));
