-- Up Migration

-- One row: which cell this database is of (domain/cell.ts), from the first start of a version that says so. A process
-- with another name is refused: what the database knows of the streams is said of those that are named after its cell.
create table cell (name text);
insert into cell values (null);
