CREATE TABLE metrics (device VARCHAR(40) NOT NULL, day DATE NOT NULL, PRIMARY KEY (device, day));
