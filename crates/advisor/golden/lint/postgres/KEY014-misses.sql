CREATE TABLE metrics (device varchar(40) NOT NULL, day date NOT NULL, PRIMARY KEY (device, day));
