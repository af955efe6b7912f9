/** What is installed is what was written down: no package brings other bytes, or runs anything while it is installed. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = new URL('..', import.meta.url);
const read = (name: string) => readFileSync(fileURLToPath(new URL(name, ROOT)), 'utf8');

interface LockedPackage {
  readonly integrity?: string;
  readonly resolved?: string;
}

test('every package of the lock is pinned by its SHA-512, and to no registry', () => {
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, LockedPackage> };
  const installed = Object.entries(packages).filter(([path]) => path !== '');
  assert.ok(installed.length > 100);
  const loose = installed.filter(
    ([, { integrity, resolved }]) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? '') || resolved !== undefined,
  );
  assert.deepEqual(
    loose.map(([path]) => path),
    [],
  );
});

test('packages run nothing when they are installed, and no script of ours counts on hooks that are off with theirs', () => {
  const settings = read('.npmrc').split('\n');
  for (const line of ['ignore-scripts=true', 'omit-lockfile-registry-resolved=true']) {
    assert.ok(settings.includes(line), `.npmrc lacks ${line}`);
  }
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const hooks = Object.keys(scripts).filter((name) => /^(?:pre|post)/.test(name));
  assert.deepEqual(hooks, []);
});

test('the image is built on an exact version of Node', () => {
  assert.match(read('Dockerfile'), /^ARG NODE_VERSION=\d+\.\d+\.\d+$/m);
  const bases = [...read('Dockerfile').matchAll(/^FROM (\S+)/gm)].map(([, base]) => base);
  assert.deepEqual(new Set(bases), new Set(['node:${NODE_VERSION}-bookworm-slim']));
});
