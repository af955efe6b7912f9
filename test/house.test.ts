/**
 * Rules of the code base that no linter checks, for example allowed imports, names of files, and the documentation of
 * every setting. `.oxlintrc.json` limits the length of files and functions and forbids circular imports.
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { ROOT } from './support/checkout.ts';
import { assertNone } from './support/lists.ts';
import { importsOf } from './support/source-scanner.ts';

const GENERATED = /\/generated\//;

/**
 * Folders of src, of its engine and of its features, and top-level files with special rules, each with its allowed
 * imports.
 */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  'engine/actor': [],
  'engine/domain': [],
  'engine/broker': ['engine/actor', 'engine/domain'],
  'engine/matching': ['engine/actor', 'engine/domain'],
  'engine/store': ['engine/actor', 'engine/domain'],
  'engine/reference': ['engine/domain'],
  'engine/intake': ['engine/actor', 'engine/broker', 'engine/matching', 'engine/store', 'engine/domain'],
  'engine/delivery': ['engine/actor', 'engine/broker', 'engine/store', 'engine/domain'],
  'engine/maintenance': ['engine/actor', 'engine/broker', 'engine/matching', 'engine/store', 'engine/domain'],
  'features/explanations': ['engine', 'rest', 'grpc', 'csv.ts', 'feature.ts', 'values.ts'],
  'features/feed': ['engine', 'rest', 'feature.ts', 'values.ts', 'metrics.ts'],
  'features/feeds': ['engine', 'grpc', 'cli', 'feature.ts', 'config.ts'],
  'features/mail': ['engine', 'rest', 'feature.ts', 'languages.ts', 'log.ts', 'metrics.ts'],
  'features/recipients': [...['engine', 'local', 'rest', 'grpc', 'cli', 'feature.ts', 'values.ts', 'config.ts']],
  'features/marks': ['engine', 'rest', 'feature.ts', 'values.ts'],
  'features/recoveries': ['engine', 'rest', 'grpc', 'feature.ts', 'values.ts'],
  // The page uses only the REST interface.
  console: ['languages.ts'],
  rest: ['engine', 'features.ts', 'languages.ts', 'values.ts'],
  grpc: ['engine', 'features.ts', 'values.ts'],
  'values.ts': ['engine', 'languages.ts'],
  'config.ts': ['engine/domain'],
  'config-conflicts.ts': ['config.ts'],
  'csv.ts': [],
  'languages.ts': [],
  'log.ts': [],
  'version.ts': [],
  'descriptors.ts': ['config.ts'],
  'metrics.ts': ['engine/actor', 'engine/domain'],
  local: ['engine/actor'],
  cli: [
    ...['engine', 'local', 'rest', 'grpc', 'feature.ts', 'features.ts'],
    ...['config.ts', 'config-conflicts.ts', 'csv.ts', 'descriptors.ts', 'log.ts', 'version.ts', 'service.ts'],
  ],
  'main.ts': ['cli', 'config.ts', 'log.ts', 'version.ts'],
};

/**
 * The roles and the top-level files that `LAYERS` lacks may import every part below the command line. Only `service.ts`
 * imports the roles. `feature.ts` also imports types that the roles and the command line pass on.
 */
function mayImport(layer: string, target: string): boolean {
  if (layer === target) return true;
  const listed = LAYERS[layer];
  if (listed !== undefined) return listed.includes(target) || listed.includes(target.split('/')[0] as string);
  const above = layer === 'feature.ts' ? ['main.ts', 'service.ts'] : ['cli', 'main.ts', 'service.ts'];
  if (layer === 'roles') return !above.includes(target);
  return (
    layer.endsWith('.ts') &&
    !above.includes(target) &&
    (target !== 'roles' || ['service.ts', 'feature.ts'].includes(layer))
  );
}

/** Packages that only one layer may import. */
const OWN_PACKAGES: Readonly<Record<string, string>> = { nats: 'engine/broker', 'node:test': 'no layer' };

/**
 * Files that set a time limit for work that a callback ends: an attempt, a call, an error, a process. All other code
 * outside the console that waits, repeats, shares or counts work uses `engine/actor`.
 */
const ALARM_OWNERS = [
  'src/cli/demo/demo.ts',
  'src/cli/serve.ts',
  'src/engine/broker/publish.ts',
  'src/engine/delivery/connector.ts',
  'src/engine/delivery/sender.ts',
  'src/features/mail/mail-sender.ts',
  'src/grpc/call.ts',
  'src/grpc/server.ts',
  'src/roles/transient-errors.ts',
];

/** Concurrency written by hand: sleeping, repeating, a flag for a run in progress, a set of pending promises. */
const CONCURRENCY_BY_HAND =
  /\bsetInterval\(|\bsetTimeout\((?:resolve|proceed)\b|['"](?:node:)?timers(?:\/promises)?['"]|new Set<Promise<|\bis(?:Running|Asking|Stopping|Stopped|Draining) = /;

const FORBIDDEN_NAMES =
  /^(?:utils?|helpers?|common|types|index|misc|lib|interfaces?|constants?)\.tsx?$|\.(?:service|model|controller|util|helper)\.ts$/;

interface SourceFile {
  /** Relative to the root of the repository. */
  readonly path: string;
  readonly text: string;
  readonly lines: readonly string[];
}

const everywhere: readonly SourceFile[] = ['src', 'bench', 'test']
  .flatMap((top) => readdirSync(join(ROOT, top), { recursive: true, withFileTypes: true }))
  .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
  .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
  .filter((path) => !GENERATED.test(path))
  .sort()
  .map((path) => {
    const text = readFileSync(join(ROOT, path), 'utf8');
    return { path, text, lines: text.trimEnd().split('\n') };
  });

/** Files of the product; for benchmarks and tests only the rules about every file apply. */
const files = everywhere.filter(({ path }) => path.startsWith('src/'));

/** The folder of src, of its engine or of its features, or the file itself if it is at the top. */
function layerOf(path: string): string {
  const [, first = '', second = ''] = path.split('/');
  return ['engine', 'features'].includes(first) ? `${first}/${second}` : first;
}

test('the journey of a webhook stays within 14 files and 2,400 lines', () => {
  const journey = files.filter(({ path }) => layerOf(path) === 'engine/delivery');
  const lines = journey.reduce((sum, file) => sum + file.lines.length, 0);
  assert.ok(journey.length > 0 && journey.length <= 14, `${journey.length} files`);
  assert.ok(lines <= 2_400, `${lines} lines`);
});

test('a part imports only the parts that its layer allows', () => {
  const violations: string[] = [];
  for (const { path, text } of files) {
    const layer = layerOf(path);
    if (!layer.endsWith('.ts') && layer !== 'roles' && !(layer in LAYERS))
      violations.push(`${path}: no layer is called ${layer}`);
    for (const specifier of importsOf(text).filter((each) => each.startsWith('.'))) {
      const target = join(dirname(path), specifier);
      if (!target.startsWith('src/')) {
        if (!target.endsWith('.json')) violations.push(`${path} imports ${target}, outside src`);
      } else if (!mayImport(layer, layerOf(target))) {
        violations.push(`${path} imports ${target}`);
      }
    }
  }
  assertNone(violations);
});

test('only the owner of a package imports it', () => {
  assertNone(
    files.flatMap(({ path, text }) =>
      importsOf(text)
        .filter((specifier) => specifier in OWN_PACKAGES && OWN_PACKAGES[specifier] !== layerOf(path))
        .map((specifier) => `${path} imports ${specifier}`),
    ),
  );
});

test('concurrency is written by hand only in engine/actor, and setTimeout is used elsewhere only by its listed owners', () => {
  // The console is excluded, because its page runs in a browser.
  const outside = files.filter(({ path }) => !['engine/actor', 'console'].includes(layerOf(path)));
  assertNone(
    outside.flatMap(({ path, lines }) =>
      lines.flatMap((line, at) => (CONCURRENCY_BY_HAND.test(line) ? `${path}:${at + 1} ${line.trim()}` : [])),
    ),
  );
  const withAlarms = outside.filter(({ text }) => /(?<![.\w])setTimeout\(/.test(text)).map(({ path }) => path);
  assert.deepEqual(withAlarms, ALARM_OWNERS);
});

test('names of files are kebab-case, and none names a collection of unrelated code', () => {
  const names = everywhere.map(({ path }) => basename(path));
  assertNone(
    names.filter((name) => FORBIDDEN_NAMES.test(name) || !/^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.d|\.test)?\.tsx?$/.test(name)),
  );
});

test('every file begins with a doc comment', () => {
  assertNone(
    everywhere.filter(({ text }) => !/^(?:#!.*\n)?\/\*\*\s[^]*?\w[^]*?\*\/\n/.test(text)).map(({ path }) => path),
  );
});

test('a TODO has an owner', () => {
  assertNone(
    files.flatMap(({ path, lines }) =>
      lines.flatMap((line, at) =>
        /\b(?:FIXME|XXX|HACK|TODO(?!\(\w+\)))\b/.test(line) ? `${path}:${at + 1} ${line.trim()}` : [],
      ),
    ),
  );
});

test('names of types have no I… and …Impl', () => {
  assertNone(
    everywhere.flatMap(({ path, text }) =>
      [...text.matchAll(/\b(?:interface|type|class) (I[A-Z][a-z]\w*|\w+Impl)\b/g)].map(
        ([found]) => `${path}: ${found}`,
      ),
    ),
  );
});

test('config.ts and config/default.env have the same settings, and each is described in a sentence', () => {
  const told = readFileSync(join(ROOT, 'config/default.env'), 'utf8').split('\n');
  const read = files.find(({ path }) => path === 'src/config.ts')?.text ?? '';
  const schema = /z\.object\(\{([^]*?)\n\}\);/.exec(read)?.[1] ?? '';
  const known = [...schema.matchAll(/^ {2}([A-Z][A-Z0-9_]*):/gm)].map(([, name]) => name as string);
  const settings = told.flatMap((line, at) => {
    const name = /^([A-Z][A-Z0-9_]*)=/.exec(line)?.[1];
    return name === undefined ? [] : [{ name, comment: told[at - 1] ?? '' }];
  });
  assert.ok(known.length > 10);
  assert.deepEqual(settings.map(({ name }) => name).sort(), known.sort());
  assertNone(settings.filter(({ comment }) => !/^# \S.*\.$/.test(comment)).map(({ name }) => name));
  assertNone(known.filter((name) => !read.includes(`setting.${name}`)));
});
