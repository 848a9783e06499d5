CREATE TABLE a (id bigint PRIMARY KEI, b int);
CREATE TABLE a (id bigint PRIMRY KEY, b int);
CREATE TABLE a (id bigint, b int, PRIMARY KEI (id));
CREATE TABLE a (id bigint, b int, CONSTRAINT pk PRIMRY KEY (id));
CREATE TABLE a (id bigint NOT NUL, b int DEFALT 5);
ALTER TABLE a AD COLUMN c int;
ALTER TABLE a;
CREATE TABLE a (id bigint)
CREATE TABLE b (id bigint);
CREATE TABEL users (id INT8 PRIMARY KEY);
CREATE INDXE i ON users (id);
ALTER TABL users ADD COLUMN a INT8;
UPSRT INTO users VALUES (1);
CREATE TABLE orders (id SERIAL PRIMARY KEY);
