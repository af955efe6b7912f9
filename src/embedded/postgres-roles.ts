/**
 * Who may do what in the embedded PostgreSQL. The application's role owns its database and nothing more; the superuser
 * that initdb makes has another name, and a password that the daemon alone can read. In clusters of earlier versions
 * the superuser had the application's name: it is renamed, and what it owned goes to the role that takes its place.
 */

import { join } from 'node:path';
import type { PostgresBinaries } from './postgres-binaries.ts';
import { POSTGRES_DATABASE, type PostgresHome, runSingleUser } from './postgres-tools.ts';
import { randomSecret, readSecret, writeSecret } from './secret-file.ts';

/** Of the application. */
export const POSTGRES_ROLE = 'vigie';
export const POSTGRES_SUPERUSER = 'vigie_superuser';

export interface PostgresPasswords {
  readonly role: string;
  readonly superuser: string;
}

const ROLE_PASSWORD_FILE = 'password';
const SUPERUSER_PASSWORD_FILE = 'superuser-password';

/** Null in a home whose roles have not been set right. */
export async function readPasswords(home: PostgresHome): Promise<PostgresPasswords | null> {
  const role = await readSecret(join(home.path, ROLE_PASSWORD_FILE));
  const superuser = await readSecret(join(home.path, SUPERUSER_PASSWORD_FILE));
  return role === null || superuser === null ? null : { role, superuser };
}

/** Sets roles, owners and new passwords, in a cluster on which no server works. What was done before does not matter. */
export async function setRoles(
  home: PostgresHome,
  binaries: PostgresBinaries,
  isDurable: boolean,
): Promise<PostgresPasswords> {
  const passwords = { role: randomSecret(), superuser: randomSecret() };
  await runSingleUser(home, binaries, POSTGRES_DATABASE, roleStatements(passwords), isDurable);
  await writeSecret(join(home.path, ROLE_PASSWORD_FILE), passwords.role);
  // The last, for it says that all is done.
  await writeSecret(join(home.path, SUPERUSER_PASSWORD_FILE), passwords.superuser);
  return passwords;
}

/** The superuser of a cluster has the number 10 for ever. Nobody renames himself: another superuser does it, and goes. */
function roleStatements({ role, superuser }: PostgresPasswords): readonly string[] {
  return [
    'begin',
    `do $$ begin
      if (select rolname from pg_roles where oid = 10) = '${POSTGRES_ROLE}' then
        create role vigie_renaming superuser;
        set session authorization vigie_renaming;
        alter role ${POSTGRES_ROLE} rename to ${POSTGRES_SUPERUSER};
        set session authorization ${POSTGRES_SUPERUSER};
        drop role vigie_renaming;
      end if;
      if not exists (select from pg_roles where rolname = '${POSTGRES_ROLE}') then
        create role ${POSTGRES_ROLE};
      end if;
    end $$`,
    `alter role ${POSTGRES_SUPERUSER} password '${superuser}'`,
    `alter role ${POSTGRES_ROLE}
       login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password '${role}'`,
    `alter database ${POSTGRES_DATABASE} owner to ${POSTGRES_ROLE}`,
    // Tables, views, and sequences that belong to no column; members of extensions stay with the superuser.
    `do $$ declare relation regclass; begin
      for relation in
        select c.oid from pg_class c join pg_namespace n on n.oid = relnamespace
        where relowner = 10 and relkind in ('r', 'p', 'v', 'm', 'f', 'S')
          and nspname !~ '^pg_' and nspname <> 'information_schema'
          and not exists (
            select from pg_depend where classid = 'pg_class'::regclass and objid = c.oid
              and (deptype = 'e' or relkind = 'S' and deptype in ('a', 'i')))
      loop
        execute format('alter table %s owner to ${POSTGRES_ROLE}', relation);
      end loop;
    end $$`,
    'revoke connect, temporary on database postgres, template1 from public',
    'commit',
  ];
}
