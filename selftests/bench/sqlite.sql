-- SPDX-License-Identifier: GPL-2.0
-- A table, two indexes and some queries, in memory.
CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, kind INTEGER, note TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)
INSERT INTO item SELECT i, 'item ' || (i * 7919 % 300007), i % 97, hex(i * 2654435761 % 4294967296) FROM n;
CREATE INDEX item_name ON item (name);
CREATE INDEX item_note ON item (note, kind);
SELECT kind, count(*), max(name), group_concat(substr(note, 1, 2), '') FROM item GROUP BY kind ORDER BY 2 DESC LIMIT 5;
SELECT count(*) FROM item a JOIN item b ON a.name = b.name WHERE a.kind < 20;
DELETE FROM item WHERE kind % 3 = 0;
SELECT count(DISTINCT substr(note, 1, 4)) FROM item;
