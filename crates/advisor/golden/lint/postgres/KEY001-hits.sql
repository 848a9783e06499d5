CREATE TABLE events (at timestamptz NOT NULL, userid bigint NOT NULL, what varchar(40), PRIMARY KEY (at, userid));
CREATE TABLE log (at timestamptz NOT NULL, what varchar(40), PRIMARY KEY (at));
CREATE TABLE orders (order_id bigint NOT NULL, customer_id bigint, PRIMARY KEY (order_id));
CREATE TABLE invoices (
    id bigserial PRIMARY KEY,
    amount bigint
);
CREATE TABLE public.dumped (id bigint NOT NULL, name varchar(40));
ALTER TABLE ONLY public.dumped ALTER COLUMN id SET DEFAULT nextval('public.dumped_id_seq'::regclass);
ALTER TABLE ONLY public.dumped ADD CONSTRAINT dumped_pkey PRIMARY KEY (id);
CREATE TABLE tokens (id uuid DEFAULT uuidv7() PRIMARY KEY, made_at timestamptz DEFAULT now());
CREATE INDEX tokens_made ON tokens USING btree (made_at DESC);
CREATE TABLE "Order Items" ("Item Id" bigserial PRIMARY KEY, "from" varchar(9));
