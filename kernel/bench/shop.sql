CREATE TABLE item (i_id int PRIMARY KEY, i_title text NOT NULL);
INSERT INTO item SELECT g, md5(g::text) FROM generate_series(1, 1000) g;
CREATE TABLE order_line (ol_id int PRIMARY KEY, ol_i_id int NOT NULL, ol_qty int NOT NULL);
INSERT INTO order_line SELECT g, 1 + g * 7919 % 100, 1 + g % 5 FROM generate_series(1, 10000) g;
VACUUM (FREEZE, ANALYZE) item;
VACUUM (FREEZE, ANALYZE) order_line;
