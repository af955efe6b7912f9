/** Only the recorded packages are installed. None has other bytes, and none runs anything during installation. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ROOT_URL } from './support/checkout.ts';
import { assertNone } from './support/lists.ts';
import { importsOf } from './support/source-scanner.ts';

const read = (name: string) => readFileSync(fileURLToPath(new URL(name, ROOT_URL)), 'utf8');

interface LockedPackage {
  readonly integrity?: string;
  readonly resolved?: string;
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
}

test('every package of the lock file is pinned by its SHA-512, and no registry is named', () => {
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, LockedPackage> };
  const installed = Object.entries(packages).filter(([path]) => path !== '');
  assert.ok(installed.length > 100);
  const loose = installed.filter(
    ([, { integrity, resolved }]) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? '') || resolved !== undefined,
  );
  assertNone(loose.map(([path]) => path));
});

test('packages run no scripts when they are installed, and no script of Vigie needs a disabled hook', () => {
  const settings = read('.npmrc').split('\n');
  for (const line of ['ignore-scripts=true', 'omit-lockfile-registry-resolved=true']) {
    assert.ok(settings.includes(line), `.npmrc lacks ${line}`);
  }
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const hooks = Object.keys(scripts).filter((name) => /^(?:pre|post)/.test(name));
  assert.deepEqual(hooks, []);

  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, LockedPackage> };
  const withScript = Object.entries(packages)
    .filter(([, { dev, hasInstallScript }]) => hasInstallScript && !dev)
    .map(([path]) => path.split('node_modules/').at(-1) as string);
  const [, named = ''] = /Three dependencies have install scripts:\s([^.]*)\./.exec(read('config/install.md')) ?? [];
  assert.deepEqual(
    [...named.matchAll(/`([^`]+)`/g)].map(([, name]) => name),
    withScript,
  );
});

test('an installed program has the packages that it imports, but no compiler', () => {
  const { scripts, dependencies, optionalDependencies, devDependencies } = JSON.parse(read('package.json')) as Record<
    'scripts' | 'dependencies' | 'optionalDependencies' | 'devDependencies',
    Record<string, string>
  >;
  for (const name of ['start', 'demo', 'vigie'])
    assert.match(
      scripts[name] ?? '',
      /^(?:echo [^;&]* >&2; )?npm run -s ready && exec node (?:--max-semi-space-size=64 )?dist\/src\/main\.js/,
    );
  for (const name of ['test', 'test:long'])
    assert.match(scripts[name] ?? '', /^echo [^;]*; npm run -s setup && npm run -s build && exec /);
  const [, witness = ''] = /^flock .*'test -d node_modules\/(\S+) -a /.exec(scripts.setup ?? '') ?? [];
  assert.ok(witness in devDependencies, `${witness} is a package of development`);
  for (const name of ['tsx', 'esbuild', 'typescript'])
    assert.ok(name in devDependencies && !(name in dependencies), `${name} is for tests, benches and builds`);

  const installed = new Set([...Object.keys(dependencies), ...Object.keys(optionalDependencies)]);
  const sources = readdirSync(fileURLToPath(new URL('src', ROOT_URL)), { recursive: true, encoding: 'utf8' });
  // `build.ts` files are excluded: `npm run generate` runs them.
  const isRun = (path: string): boolean => path.endsWith('.ts') && !/(?:^|\/)build\.ts$|\.d\.ts$/.test(path);
  const missing = sources.filter(isRun).flatMap((path) =>
    importsOf(read(`src/${path}`).replace(/^import type [^;]*;$/gm, ''))
      .filter((specifier) => !/^(?:\.|node:)/.test(specifier))
      .map((specifier) =>
        specifier
          .split('/')
          .slice(0, specifier.startsWith('@') ? 2 : 1)
          .join('/'),
      )
      .filter((name) => !installed.has(name))
      .map((name) => `${path}: ${name}`),
  );
  // Builds and processes that run from the sources use esbuild; the compiled program reads the bundle.
  assert.deepEqual(missing, ['console/bundle.ts: esbuild']);
});

test('the image is built on an exact version of Node', () => {
  assert.match(read('Dockerfile'), /^ARG NODE_VERSION=\d+\.\d+\.\d+$/m);
  const bases = [...read('Dockerfile').matchAll(/^FROM (\S+)/gm)].map(([, base]) => base);
  assert.deepEqual(new Set(bases), new Set(['node:${NODE_VERSION}-bookworm-slim@${NODE_DIGEST}']));
});
