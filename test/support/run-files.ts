/**
 * Runs the test files of `npm test` or, with the argument `long`, of `npm run test:long`. Each long file has its own
 * process. The longest start first, so that no core is idle at the end; `node --test` would sort the files by name. In
 * `npm test` most files share processes (together.ts), which only saves time: each file can also run alone.
 */

import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from 'node:test';
import { spec, tap } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { moduleUrl } from './checkout.ts';

const TESTS = fileURLToPath(new URL('..', import.meta.url));
const ENDING = import.meta.url.endsWith('.js') ? '.test.js' : '.test.ts';
/** More processes than two cores need, because tests often wait. */
const [TEST_PROCESSES, LONG_PROCESSES] = [5, 3];
/** Files of test/long that take minutes. */
const LONGEST = ['generated-clients', 'benchmarks', 'feature-folders', 'chaos', 'upgrade', 'restore'];
/** Files that need their own process, because they observe or signal it, start embedded servers, or take long. */
const ALONE = new Set([
  'name-lookups',
  'integration/drain',
  'integration/embedded-data-directory',
  'integration/embedded-safety',
  'integration/embedded-servers',
  'integration/embedded-start',
  'integration/few-descriptors',
  'integration/intake-lead',
  'integration/market-difference',
  'integration/points-of-interest',
]);
/** The other files of a folder are dealt to so many processes, which get about the same work. */
const SHARES = { integration: 9, '': 3 };

const namesIn = (folder: string): string[] =>
  readdirSync(join(TESTS, folder))
    .filter((name) => name.endsWith(ENDING))
    .map((name) => join(folder, name.slice(0, -ENDING.length)))
    .sort();
const pathsOf = (names: Iterable<string>): string[] => [...names].map((name) => join(TESTS, name + ENDING));

/** Writes a file for each share of the folder's files that need no process of their own; returns the paths. */
function dealt(scratch: string, folder: keyof typeof SHARES): string[] {
  const names = namesIn(folder).filter((name) => !ALONE.has(name));
  return Array.from({ length: SHARES[folder] }, (_, share) => {
    const files = JSON.stringify(names.filter((_, position) => position % SHARES[folder] === share));
    const path = join(scratch, `${folder || 'unit'}-${share + 1}.mjs`);
    const { href } = moduleUrl('test/support/together');
    writeFileSync(path, `import { runTogether } from ${JSON.stringify(href)};\nrunTogether(${files});\n`);
    return path;
  });
}

function longFiles(): string[] {
  return pathsOf(new Set([...LONGEST.map((name) => join('long', name)), ...namesIn('long')]));
}

function testFiles(): string[] {
  const scratch = mkdtempSync(join(tmpdir(), 'vigie-tests-'));
  process.once('exit', () => rmSync(scratch, { recursive: true }));
  return [...dealt(scratch, 'integration'), ...pathsOf(ALONE), ...dealt(scratch, '')];
}

const isLong = process.argv[2] === 'long';
const files = isLong ? longFiles() : testFiles();
/** One TAP comment for each failed test, because its own report is far above the end of the output. */
const failures: string[] = [];
run({ files, concurrency: isLong ? LONG_PROCESSES : TEST_PROCESSES })
  .on('test:fail', ({ name, details, file }) => {
    process.exitCode = 1;
    const { cause, failureType } = details.error as { cause?: unknown; failureType?: string };
    if (failureType === 'subtestsFailed') return;
    failures.push(`# failed: ${name} (${file}): ${inspect(cause)}`.replaceAll('\n', '\n#   '));
  })
  .compose(process.stdout.isTTY ? new spec() : tap)
  .on('end', () => process.stdout.write(failures.map((failure) => `${failure}\n`).join('')))
  .pipe(process.stdout);
