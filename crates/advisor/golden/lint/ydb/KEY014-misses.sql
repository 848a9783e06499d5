CREATE TABLE metrics (device Utf8 NOT NULL, day Date NOT NULL, PRIMARY KEY (device, day));
