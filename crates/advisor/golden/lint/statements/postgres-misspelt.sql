CREATE TABLE a (id bigint PRIMARY KEI, b int);
CREATE TABLE a (id bigint PRIMRY KEY, b int);
CREATE TABLE a (id bigint, b int, PRIMARY KEI (id));
CREATE TABLE a (id bigint, b int, CONSTRAINT pk PRIMRY KEY (id));
CREATE TABLE a (id bigint NOT NUL, b int DEFALT 5);
ALTER TABLE a AD COLUMN c int;
ALTER TABLE a;
CREATE TABLE a (id bigint)
CREATE TABLE b (id bigint);
CREATE TABL users (id bigint PRIMARY KEY);
CREATE UNIQU INDEX i ON users (id);
ALTER TABEL users ADD COLUMN a bigint;
DROP TBLE users;
CRAETE TABLE users (id bigint PRIMARY KEY);
CREATE SOMETHING users;
CREATE;
-- The rest is looked at.
CREATE TABLE orders (id bigserial PRIMARY KEY);
