CREATE TABLE users (name varchar(40) PRIMARY KEY, email varchar(40) UNIQUE);
CREATE TABLE seats (place varchar(40) PRIMARY KEY, hall varchar(40), row_name varchar(40) NOT NULL, UNIQUE (hall, row_name));
