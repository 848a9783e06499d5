CREATE TABLE tasks (owner VARCHAR(40) NOT NULL, done BOOLEAN NOT NULL, PRIMARY KEY (owner, done));
CREATE TABLE countries (country VARCHAR(40) NOT NULL, title VARCHAR(40), PRIMARY KEY (country));
