CREATE TABLE events (userid bigint NOT NULL, created_at varchar(40) NOT NULL, PRIMARY KEY (userid, created_at));
CREATE TABLE bills (customer bigint NOT NULL, bill_no varchar(40) NOT NULL, PRIMARY KEY (customer, bill_no));
CREATE TABLE diary (customer bigint NOT NULL, entry_date varchar(40) NOT NULL, PRIMARY KEY (customer, entry_date));
