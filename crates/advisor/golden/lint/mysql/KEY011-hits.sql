CREATE TABLE events (userid BIGINT NOT NULL, created_at VARCHAR(40) NOT NULL, PRIMARY KEY (userid, created_at));
CREATE TABLE bills (customer BIGINT NOT NULL, bill_no VARCHAR(40) NOT NULL, PRIMARY KEY (customer, bill_no));
CREATE TABLE diary (customer BIGINT NOT NULL, entry_date VARCHAR(40) NOT NULL, PRIMARY KEY (customer, entry_date));
