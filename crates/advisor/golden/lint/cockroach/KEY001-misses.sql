CREATE TABLE events (at TIMESTAMPTZ NOT NULL, userid INT8 NOT NULL, PRIMARY KEY (userid, at));
CREATE TABLE tenants_log (tenant INT8, id SERIAL, PRIMARY KEY (tenant, id));
CREATE TABLE hashed (at TIMESTAMP NOT NULL, PRIMARY KEY (at) USING HASH WITH (bucket_count = 8));
CREATE TABLE inline_hashed (id INT8 DEFAULT unique_rowid() PRIMARY KEY USING HASH);
CREATE TABLE files (id UUID DEFAULT gen_random_uuid() PRIMARY KEY, at TIMESTAMP, INDEX (at) USING HASH);
