CREATE TABLE users (name STRING(40), age INT64) PRIMARY KEY (name);
