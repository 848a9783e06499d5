CREATE TABLE events (timestamp Timestamp NOT NULL, userid Uint64 NOT NULL, PRIMARY KEY (userid, timestamp)) WITH (AUTO_PARTITIONING_BY_LOAD = ENABLED);
CREATE TABLE tenants_log (tenant Uint64 NOT NULL, id BigSerial, PRIMARY KEY (tenant, id)) WITH (AUTO_PARTITIONING_BY_LOAD = ENABLED);
CREATE TABLE people (passport Utf8 NOT NULL, birth_date Date, PRIMARY KEY (passport), INDEX b GLOBAL ON (birth_date)) WITH (AUTO_PARTITIONING_BY_LOAD = ENABLED);
CREATE TABLE e (HASH_ID Uint64 NOT NULL, timestamp Timestamp NOT NULL, PRIMARY KEY (HASH_ID, timestamp)) WITH (AUTO_PARTITIONING_BY_LOAD = ENABLED);
CREATE TABLE facts (ts Timestamp NOT NULL, userid Uint64 NOT NULL, PRIMARY KEY (ts, userid)) PARTITION BY HASH(userid) WITH (STORE = COLUMN);
