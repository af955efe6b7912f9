/** The table of commands is whole: each one says what it takes, with an example that it would understand. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Command } from '../src/cli/command.ts';
import { COMMANDS } from '../src/cli/commands.ts';
import { helpOf, helpOfAll } from '../src/cli/program.ts';
import { ROOT } from './support/checkout.ts';
import { assertNone } from './support/lists.ts';

const groups = await Promise.all(
  COMMANDS.groups.map(async (group) =>
    (await group.load()).map((command): Command => ({ ...command, words: `${group.words} ${command.words}`, group })),
  ),
);
const all: readonly Command[] = [...COMMANDS.commands, ...groups.flat()];

test('the help of every command shows what it takes and an example with its own options', () => {
  assert.ok(all.length > 35);
  for (const command of all) {
    const { words, example, options = {}, group } = command;
    const help = helpOf(command);
    assert.ok(help.startsWith(`vigie ${words}`), words);
    assert.ok(help.includes(`\nExample\n  ${example}`), words);
    for (const name of Object.keys({ ...options, ...group?.options }))
      assert.match(help, new RegExp(`^  --${name}\\b`, 'm'));
    const [, line = ''] = new RegExp(`vigie ${words}((?: [^|)]*)?)`).exec(example) ?? [undefined, undefined];
    assert.ok(example.includes(`vigie ${words}`), example);
    for (const [, name = ''] of line.matchAll(/ --([\w-]+)/g)) {
      assert.ok(name in { ...options, ...group?.options }, `${example}: --${name}`);
    }
  }
});

test('an option is of the same type wherever it is taken, so that it may stand before the words', () => {
  const types = new Map<string, string>();
  for (const { words, options, group } of all) {
    for (const [name, { type }] of Object.entries({ ...group?.options, ...options })) {
      assert.equal(type, types.get(name) ?? type, `${words} --${name}`);
      types.set(name, type);
    }
  }
});

test('no command is called as another one begins', () => {
  for (const { words } of all) {
    assert.deepEqual(
      all.filter((other) => `${other.words} `.startsWith(`${words} `)).map((other) => other.words),
      [words],
    );
  }
});

test('the help of all names every command and group', () => {
  const top = helpOfAll('', COMMANDS.commands, COMMANDS.groups);
  for (const { words } of [...COMMANDS.commands, ...COMMANDS.groups]) assert.ok(top.includes(`  ${words} `), words);
  const admin = helpOfAll('admin', groups.flat(), []);
  for (const { words } of groups.flat()) assert.ok(admin.includes(`  ${words.slice('admin '.length)} `), words);
});

test('the changelog names every command and the first setting of each group', async () => {
  const changelog = await readFile(join(ROOT, 'config/CHANGELOG.md'), 'utf8');
  const first = changelog.slice(changelog.indexOf('## [Unreleased]'));
  const named = new Set(
    [...first.matchAll(/`([^`]+)`/g)].flatMap(([, text = '']) => {
      const [words = '', ...verbs] = text.split(/ (?=[^ ]+$)|\|/);
      return verbs.length === 0 ? [words] : verbs.map((verb) => `${words} ${verb}`);
    }),
  );
  assertNone(all.map(({ words }) => words.replace(/^admin /, '')).filter((words) => !named.has(words)));
  const settings = await readFile(join(ROOT, 'config/default.env'), 'utf8');
  const groups = settings.split('\n\n').flatMap((group) => /^([A-Z][A-Z_]+)=/m.exec(group)?.[1] ?? []);
  assert.ok(groups.length > 5);
  assertNone(groups.filter((name) => !named.has(name)));
});
