/**
 * Who may do what in the embedded PostgreSQL. The application's role owns its database and nothing more; the superuser
 * that initdb makes has another name, and a password that the daemon alone can read.
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

/** Sets roles, the owner and new passwords, in a cluster on which no server works. What was done before does not matter. */
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

function roleStatements({ role, superuser }: PostgresPasswords): readonly string[] {
  return [
    'begin',
    `do $$ begin
      if not exists (select from pg_roles where rolname = '${POSTGRES_ROLE}') then
        create role ${POSTGRES_ROLE};
      end if;
    end $$`,
    `alter role ${POSTGRES_SUPERUSER} password '${superuser}'`,
    `alter role ${POSTGRES_ROLE}
       login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password '${role}'`,
    `alter database ${POSTGRES_DATABASE} owner to ${POSTGRES_ROLE}`,
    'revoke connect, temporary on database postgres, template1 from public',
    'commit',
  ];
}
