/** The table of commands is consistent, and agrees with the help, the changelog and the documents. */

import assert from 'node:assert/strict';
import { access, readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
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

test('the help of every command shows its options, and an example that uses no other options', () => {
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

test('an option has the same type in every command, so that it may precede the command', () => {
  const types = new Map<string, string>();
  for (const { words, options, group } of all) {
    for (const [name, { type }] of Object.entries({ ...group?.options, ...options })) {
      assert.equal(type, types.get(name) ?? type, `${words} --${name}`);
      types.set(name, type);
    }
  }
});

test('no command is a prefix of another', () => {
  for (const { words } of all) {
    assert.deepEqual(
      all.filter((other) => `${other.words} `.startsWith(`${words} `)).map((other) => other.words),
      [words],
    );
  }
});

test('the help of the program and of the admin group lists every command and group', () => {
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

const MANUAL = (await readdir(join(ROOT, 'config/docs'))).map((name) => `config/docs/${name}`);
const PAGES = ['README.md', 'config/README.md', 'config/install.md', 'config/law.md', ...MANUAL];
const pageOf = (page: string) => readFile(join(ROOT, page), 'utf8');

test('every command in the documents exists with its options, and commands of other programs are marked as examples', async () => {
  for (const page of PAGES) {
    const text = await pageOf(page);
    for (const [line, words = ''] of text.matchAll(
      /(?<=[`;(|] ?|^ *)(?:npm run -s )?vigie (?:-- )?([a-z][^`|#<)\n]*)/gm,
    )) {
      const command = all.find((one) => `${words.trim()} `.startsWith(`${one.words} `));
      const isGroup = all.some((one) => one.words.startsWith(`${words.trim().replace(/ --help$/, '')} `));
      assert.ok(command !== undefined || isGroup, `${page}: ${line}`);
      for (const [, name = ''] of words.matchAll(/ --([\w-]+)/g))
        assert.ok(name === 'help' || name in { ...command?.options, ...command?.group?.options }, `${page}: ${line}`);
    }
    for (const [, block = ''] of MANUAL.includes(page) ? text.matchAll(/```sh\n([^]*?)```/g) : [])
      if (!block.startsWith('# Example\n'))
        for (const line of block.trimEnd().split('\n')) assert.match(line, /^(?:vigie|npm start|npm run demo)\b/, page);
  }
});

test('every relative link in the documents refers to an existing file and heading', async () => {
  for (const page of [...PAGES, 'src/README.md', 'bench/README.md']) {
    for (const [, path = '', heading] of (await pageOf(page)).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)) {
      const target = path === '' ? page : join(dirname(page), path);
      await access(join(ROOT, target));
      if (heading === undefined) continue;
      const titles = (await pageOf(target)).match(/(?<=^#+ ).*/gm) ?? [];
      const ids = titles.map((title) =>
        title
          .toLowerCase()
          .replaceAll(/[^\p{L}\d _-]/gu, '')
          .replaceAll(' ', '-'),
      );
      assert.ok(ids.includes(heading), `${page}: ${target}#${heading}`);
    }
  }
  for (const page of MANUAL) assert.ok((await pageOf('config/README.md')).includes(page.slice('config/'.length)), page);
});
