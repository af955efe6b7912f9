-- Up Migration

-- What a message was set aside for that a bug kept from being recorded: its property or, when it could not be decoded,
-- its subject. Null for messages that are wrong themselves.
alter table dead_letters add column set_aside_for text;
-- How many different ones were set aside lately: many mean that the bug is not theirs.
create index dead_letters_set_aside on dead_letters (received_at) where set_aside_for is not null;
