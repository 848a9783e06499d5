CREATE TABLE users (name varchar(40) PRIMARY KEY, email varchar(40) UNIQUE);
CREATE TABLE seats (place varchar(40) PRIMARY KEY, hall varchar(40), row_name varchar(40) NOT NULL, UNIQUE (hall, row_name));
CREATE TABLE carts (id uuid PRIMARY KEY, code character varying(64) DEFAULT NULL::character varying, UNIQUE (code));
