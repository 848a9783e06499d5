CREATE TABLE jobs (worker varchar(40) NOT NULL, at timestamptz NOT NULL, PRIMARY KEY (worker, at));
CREATE TABLE audit (tenant_id bigint NOT NULL, userid bigint NOT NULL, at timestamptz NOT NULL, PRIMARY KEY (tenant_id, userid, at));
