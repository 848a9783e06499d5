CREATE TABL users (id Uint64 NOT NULL, PRIMARY KEY (id));
ALTER TABEL users ADD COLUMN a Uint64;
DORP TABLE users;
DISCRAD SELECT 1;
CREATE TABLE orders (order_id Uint64 NOT NULL, at Timestamp, PRIMARY KEY (order_id));
