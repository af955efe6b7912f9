/**
 * Runs the files of `npm test` or, with the argument `long`, of `npm run test:long`, each in its own process. The
 * longest come first, so that no core is idle at the end; `node --test` would sort the files by name. Groups of
 * `npm test` only save time: each of their files can also run alone.
 */

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { run } from 'node:test';
import { spec, tap } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';
import { GROUPS } from './groups.ts';

const TESTS = fileURLToPath(new URL('..', import.meta.url));
const ENDING = import.meta.url.endsWith('.js') ? '.test.js' : '.test.ts';
/** More processes than two cores need, because tests often wait. */
const [TEST_PROCESSES, LONG_PROCESSES] = [5, 3];
/** Files of test/long that take minutes. */
const LONGEST = ['generated-clients', 'benchmarks', 'feature-folders', 'chaos', 'upgrade', 'restore'];

const namesIn = (folder: string): string[] =>
  readdirSync(join(TESTS, folder))
    .filter((name) => name.endsWith(ENDING))
    .map((name) => join(folder, name.slice(0, -ENDING.length)));
const namesFor = (folder: string, names: readonly string[]): string[] => names.map((name) => join(folder, name));

const isLong = process.argv[2] === 'long';
const grouped = new Set<string>(Object.values(GROUPS).flat());
const names = isLong
  ? [...namesFor('long', LONGEST), ...namesIn('long')]
  : [...namesFor('groups', Object.keys(GROUPS)), ...namesIn('integration'), ...namesIn('')];
const files = [...new Set(names)].filter((name) => !grouped.has(name)).map((name) => join(TESTS, name + ENDING));
run({ files, concurrency: isLong ? LONG_PROCESSES : TEST_PROCESSES })
  .on('test:fail', () => {
    process.exitCode = 1;
  })
  .compose(process.stdout.isTTY ? new spec() : tap)
  .pipe(process.stdout);
