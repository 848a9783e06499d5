CREATE TABLE jobs (state Utf8 NOT NULL, at Timestamp NOT NULL, PRIMARY KEY (state, at));
CREATE TABLE audit (tenant_id Uint64 NOT NULL, at Timestamp NOT NULL, PRIMARY KEY (tenant_id, at));
