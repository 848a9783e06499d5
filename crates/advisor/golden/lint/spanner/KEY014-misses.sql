CREATE TABLE metrics (device STRING(40) NOT NULL, day DATE NOT NULL) PRIMARY KEY (device, day);
