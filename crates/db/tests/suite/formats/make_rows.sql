INSERT INTO people VALUES
    (101, 'Ada', '1815-12-10', -12345.67, '{"engine": [1, 2.5, null]}', '2024-02-29T12:34:56.789Z', '\x00ff10', 1e20, false),
    (102, 'Grete Hermann ∞', NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (103, repeat('long ', 1200), NULL, 0, '[]', NULL, '\x', -0.5, true);
DELETE FROM people WHERE id BETWEEN 9 AND 12;
DELETE FROM loaded WHERE id = 3;
UPDATE loaded SET name = 'changed' WHERE id = 4;
INSERT INTO orders (person, amount) VALUES (101, 7), (101, 8);
UPDATE events SET event = 'changed' WHERE userid = 15;
DELETE FROM events WHERE userid = 24;
ALTER TABLE loaded ADD COLUMN added int DEFAULT 9;
INSERT INTO loaded VALUES (1000, 'late', 1);
INSERT INTO "users/rides" (driver, day, passengers) VALUES ('ada', '20240101', 3), ('ada', '20240102', NULL), ('bob', '20240101', 1);
DELETE FROM "users/rides" WHERE driver = 'bob';
