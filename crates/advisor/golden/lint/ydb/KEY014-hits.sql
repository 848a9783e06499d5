CREATE TABLE metrics (day Date NOT NULL, device Utf8 NOT NULL, PRIMARY KEY (day, device));
CREATE TABLE samples (hour Uint32 NOT NULL, PRIMARY KEY (hour));
