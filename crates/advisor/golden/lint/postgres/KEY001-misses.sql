CREATE TABLE events (at timestamptz NOT NULL, userid bigint NOT NULL, PRIMARY KEY (userid, at));
CREATE TABLE tenants_log (tenant bigint, id bigserial, PRIMARY KEY (tenant, id));
CREATE TABLE files (id uuid DEFAULT gen_random_uuid() PRIMARY KEY);
CREATE TABLE people (name varchar(40) PRIMARY KEY, birth_date date);
CREATE INDEX ON people (birth_date);
