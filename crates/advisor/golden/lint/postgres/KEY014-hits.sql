CREATE TABLE metrics (day date NOT NULL, device varchar(40) NOT NULL, PRIMARY KEY (day, device));
CREATE TABLE cuts (part bigint GENERATED ALWAYS AS (extract(epoch FROM at)::bigint / 3600) STORED, at timestamptz NOT NULL, PRIMARY KEY (part, at));
