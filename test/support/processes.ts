/**
 * Prints the files that `npm test` runs in separate processes: the groups, and every file outside a group. Groups only
 * save time: each file can also run alone.
 */

import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GROUPS } from './groups.ts';

const TESTS = fileURLToPath(new URL('..', import.meta.url));
const ENDING = /\.test\.[jt]s$/;

const filesIn = (folder: string): string[] =>
  readdirSync(join(TESTS, folder))
    .filter((name) => ENDING.test(name))
    .map((name) => join(folder, name));

const grouped = new Set<string>(Object.values(GROUPS).flat());
const single = [...filesIn(''), ...filesIn('integration')].filter((path) => !grouped.delete(path.replace(ENDING, '')));
if (grouped.size > 0) throw new Error(`groups name missing files: ${[...grouped].join(', ')}`);
const order = Object.keys(GROUPS);
const turnOf = (path: string): number => order.indexOf(basename(path).replace(ENDING, ''));
const groups = filesIn('groups').toSorted((one, other) => turnOf(one) - turnOf(other));
for (const path of [...groups, ...single]) console.log(join(TESTS, path));
