CREATE TABLE a (id bigint PRIMARY KEI, b int);
CREATE TABLE a (id bigint PRIMRY KEY, b int);
CREATE TABLE a (id bigint, b int, PRIMARY KEI (id));
CREATE TABLE a (id bigint, b int, CONSTRAINT pk PRIMRY KEY (id));
CREATE TABLE a (id bigint NOT NUL, b int DEFALT 5);
ALTER TABLE a AD COLUMN c int;
ALTER TABLE a;
CREATE TABLE a (id bigint)
CREATE TABLE b (id bigint);
CREATE TABLLE users (id bigint NOT NULL, PRIMARY KEY (id));
CREATE UNIQE INDEX i ON users (id);
ALTR TABLE users ADD COLUMN a bigint;
DROP TABEL users;
CREATE TABLE orders (id bigint NOT NULL AUTO_INCREMENT, PRIMARY KEY (id));
