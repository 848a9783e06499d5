CREATE TABLE jobs (worker VARCHAR(40) NOT NULL, at DATETIME NOT NULL, PRIMARY KEY (worker, at));
CREATE TABLE audit (tenant_id BIGINT NOT NULL, userid BIGINT NOT NULL, at DATETIME NOT NULL, PRIMARY KEY (tenant_id, userid, at));
