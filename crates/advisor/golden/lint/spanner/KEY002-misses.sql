CREATE TABLE tasks (owner STRING(40) NOT NULL, done BOOL NOT NULL) PRIMARY KEY (owner, done);
CREATE TABLE countries (country STRING(40) NOT NULL, title STRING(40)) PRIMARY KEY (country);
