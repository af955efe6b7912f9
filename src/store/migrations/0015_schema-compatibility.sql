-- Up Migration

-- One row: the oldest migration that a version must know to work on this database. Migrations only add, so versions of
-- before go on beside newer ones, and it stays; one that takes something away raises it (store/schema.ts).
create table schema_compatibility (compatible_from integer not null);
insert into schema_compatibility values (1);

-- The newest migration that the process knows. Null from a version that does not say: it knows none from here on.
alter table instances add column newest_migration integer;

-- For migrations that take away what versions without migration `needed` use: refused while one of them runs. One that
-- shows itself later finds the row.
create function require_migration(needed integer) returns void language plpgsql as $$
declare
  living text := (
    select string_agg(format('%s, process %s on %s', version, process_id, host), '; ' order by started_at, id)
    from instances
    where seen_at > clock_timestamp() - interval '10 seconds' and coalesce(newest_migration, 0) < needed
  );
begin
  if living is not null then
    raise exception 'The database cannot be upgraded while an older version works on it (%). Stop that one, and start again.', living;
  end if;
  update schema_compatibility set compatible_from = greatest(compatible_from, needed);
end $$;
