CREATE TABL users (id bigint PRIMARY KEY);
CREATE UNIQU INDEX i ON users (id);
ALTER TABEL users ADD COLUMN a bigint;
DROP TBLE users;
CRAETE TABLE users (id bigint PRIMARY KEY);
CREATE SOMETHING users;
CREATE;
-- The rest is looked at.
CREATE TABLE orders (id bigserial PRIMARY KEY);
