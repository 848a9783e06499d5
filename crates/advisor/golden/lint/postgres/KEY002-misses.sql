CREATE TABLE tasks (owner varchar(40) NOT NULL, done boolean NOT NULL, PRIMARY KEY (owner, done));
CREATE TABLE countries (country varchar(40) NOT NULL, title varchar(40), PRIMARY KEY (country));
