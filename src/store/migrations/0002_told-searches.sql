-- Up Migration

-- Which of the searches that a change touches want to be told: most do not, and their rows lie all over the table.
create index searches_told on searches (number) where notification_enabled or deleted_at is not null;
