CREATE TABLE orders (
    id bigserial PRIMARY KEY,
    customer bigint NOT NULL,
    placed_at timestamptz NOT NULL DEFAULT now(),
    state text,
    total numeric(10, 2)
);
CREATE TABLE lines (order_id bigint, number int, product uuid, PRIMARY KEY (order_id, number));
