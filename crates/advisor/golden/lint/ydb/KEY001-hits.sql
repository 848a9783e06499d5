CREATE TABLE events (
    timestamp Timestamp NOT NULL,
    userid Uint64 NOT NULL,
    userevent Utf8,
    PRIMARY KEY (timestamp, userid)
) WITH (AUTO_PARTITIONING_BY_LOAD = ENABLED);
CREATE TABLE orders (
    order_id Uint64 NOT NULL,
    customer_id Uint64,
    PRIMARY KEY (order_id)
) WITH (AUTO_PARTITIONING_BY_LOAD = ENABLED);
CREATE TABLE `shop/invoices` (id BigSerial, amount Double, PRIMARY KEY (id)) WITH (AUTO_PARTITIONING_BY_LOAD = ENABLED);
CREATE TABLE payments (
    id Uuid NOT NULL, created_at Timestamp, created_ms Uint64,
    INDEX by_time GLOBAL ON (created_at),
    INDEX by_ms GLOBAL SYNC ON (created_ms) COVER (created_at),
    PRIMARY KEY (id)
) WITH (AUTO_PARTITIONING_BY_LOAD = ENABLED);
