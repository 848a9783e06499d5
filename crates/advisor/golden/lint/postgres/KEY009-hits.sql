CREATE TABLE jobs (state varchar(40) NOT NULL, at timestamptz NOT NULL, worker varchar(40) NOT NULL, PRIMARY KEY (state, at, worker));
CREATE TABLE audit (tenant_id bigint NOT NULL, at timestamptz NOT NULL, PRIMARY KEY (tenant_id, at));
