CREATE TABLE events (userid INT64 NOT NULL, created_at STRING(40) NOT NULL) PRIMARY KEY (userid, created_at);
CREATE TABLE bills (customer INT64 NOT NULL, bill_no STRING(40) NOT NULL) PRIMARY KEY (customer, bill_no);
CREATE TABLE diary (customer INT64 NOT NULL, entry_date STRING(40) NOT NULL) PRIMARY KEY (customer, entry_date);
