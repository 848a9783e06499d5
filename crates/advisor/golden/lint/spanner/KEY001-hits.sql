CREATE TABLE events (at TIMESTAMP NOT NULL, userid INT64 NOT NULL, what STRING(40)) PRIMARY KEY (at, userid);
CREATE TABLE log (at TIMESTAMP NOT NULL, what STRING(40)) PRIMARY KEY (at);
CREATE TABLE orders (order_id INT64 NOT NULL, customer_id INT64) PRIMARY KEY (order_id);
CREATE INDEX EventsByTime ON events(at DESC) STORING (what);
