/**
 * An invented next version of the program: the current version with another migration, which, as every migration must,
 * only adds to tables.
 */

import { cp, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { tsImport } from 'tsx/esm/api';
import type { migrate } from '../../src/engine/store/database.ts';
import { NEWEST_MIGRATION } from '../../src/engine/store/schema.ts';
import { IS_COMPILED, PROGRAM, ROOT } from './checkout.ts';
import { type Cleanup, emptyDirectory } from './servers.ts';

export const NEXT = NEWEST_MIGRATION + 1;
export const NEXT_NAME = `${String(NEXT).padStart(4, '0')}_next`;
const NEXT_MIGRATION = `alter table searches add column next_version text;
alter table deliveries add column next_version integer not null default 1;
`;

/** Returns the directory from which the next version can be started; it is compiled if the tests are. */
export async function nextVersion(cleanup: Cleanup): Promise<string> {
  const root = await emptyDirectory(cleanup, 'next');
  for (const name of ['src', 'config', 'package.json'])
    await cp(join(PROGRAM, name), join(root, name), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  await writeFile(join(root, 'src/engine/store/migrations', `${NEXT_NAME}.sql`), NEXT_MIGRATION);
  return root;
}

export async function migrateOf(root: string): Promise<typeof migrate> {
  const { href } = pathToFileURL(join(root, 'src/engine/store/database'));
  const loaded = IS_COMPILED ? import(`${href}.js`) : tsImport(`${href}.ts`, import.meta.url);
  return ((await loaded) as { readonly migrate: typeof migrate }).migrate;
}
