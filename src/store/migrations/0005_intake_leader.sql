-- Up Migration

-- One row: the number of the term in which an instance takes adverts in. Every recording transaction holds it shared,
-- and the next leader counts it up, so nobody records in a term that is over (store/intake-leader.ts).
create table intake_leader (term bigint not null);
insert into intake_leader values (0);
