CREATE TABLE users (name varchar(40) PRIMARY KEY, email varchar(40) NOT NULL UNIQUE, nick varchar(40));
