/**
 * Numbers, short forms and negations as the decisions define them: an oracle of regular expressions over the whole text,
 * against the definition and against the index, on texts put together at random.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '../bench/adverts/seeded-random.ts';
import { entryHolds } from '../src/engine/domain/expressions.ts';
import { foldTexts } from '../src/engine/domain/word-phrases.ts';
import { ExpressionTable } from '../src/engine/matching/text/expression-table.ts';
import { runsOf } from './support/random-runs.ts';

const PIECES = (
  "ascenseur|travaux|terrasse|terrasses|balcon|chambre|chambres|pièces|pièce|salle|eau|d'eau|vue|mer|belles|clim|T3|F3|" +
  'T 3|F2|3P|3 pièces|trois pièces|deux-pièces|deux|trois|quatre cents|dix-huit|2|3|12|100|600|1 600|2 100|11,30|30|100m2|' +
  '100 m²|m²|600 mètres carrés|600 m²|2ch|2 chambres|deux chambres|3 belles chambres|quelques|pas de|pas d’|pas|sans|aucun|' +
  "aucune|ni|gros|grands|de|d'|la|le|l'|une|un|neuf|Pas-de-Calais|sans-souci|à deux pas de|n'a pas de|1600m²"
).split('|');
const SEPARATORS = [' ', ' ', ' ', ' ', ' ', ' ', ' ', '  ', '\u00a0', ', ', '. ', '\n', ' - ', '-', ' (', '’'];
const ENTRIES = (
  'ascenseur|travaux|terrasse|chambre|pièce|clim|climatisation|T3|F3|T 3|3P|3 pièces|trois pièces|deux pièces|T2|2|deux|3|12|' +
  '100|600|1600|1 600|30|11,3|100m2|100 m²|100 mètres carrés|m²|600 m²|1 600 m²|2ch|2 chambres|deux chambres|3 chambres|' +
  "vue mer|grands travaux|balcon d'eau|sans ascenseur|aucun travaux|pas de travaux|sans|ni|à deux pas de la mer|balcon vue|" +
  'neuf|un|terrasse 100 m²|2 belles chambres|cent|Calais|souci'
).split('|');

const JOIN = "[ \u00a0'’]+";
const CLOSE = `(?:${JOIN}|-)`;
const END = '(?![a-z0-9])';
const PART = '(?:deux|trois|quatre|dix|huit|neuf|cents?)';
const UNITS: readonly (readonly [name: string, spelt: string, word: string])[] = [
  ['m2', `m${CLOSE}?2|metres?${CLOSE}carres?`, 'm2'],
  ['chambre', 'chambres?|ch', 'chambre'],
  ['piece', `(?:pieces?|p)${END}(?!${CLOSE}d${CLOSE}eau${END})`, 'piece'],
];
const ROOMS = new RegExp(`[tf]${CLOSE}?(\\d{1,2})${END}`, 'y');
const DIGITS = new RegExp('([1-9]\\d{0,2}(?:[ \u00a0]\\d{3}(?!\\d))+|\\d+)(?:,(\\d+))?', 'y');
const WRITTEN = new RegExp(`(?<!${PART}${CLOSE})(deux|trois|quatre|dix|huit)${END}(?!${CLOSE}${PART}${END})`, 'y');
const WORD = /[a-z0-9]+/y;
const THROUGH = '(?:de|d|une?|aucune?s?|gros|grands?)';
const STEP = `(?<![a-z0-9])(?:\\d+|${PART}|un|quelques)${JOIN}`;
const NEGATION = new RegExp(
  `(?<![a-z0-9])(?=(?:sans|aucune?s?|ni|(?<!${STEP})pas${JOIN}de?(?!${JOIN}l[ae]?${END}))(?<said>(?:${JOIN}${THROUGH}${END})*${JOIN}[a-z0-9]+))`,
  'g',
);

interface Said {
  readonly words: readonly string[];
  readonly isNegated: boolean;
}

const fold = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').replaceAll('²', '2').toLowerCase();
const singular = (word: string): string =>
  word === 'clim' ? 'climatisation' : word === 'aucune' ? 'aucun' : word === 'une' ? 'un' : word.replace(/s$/, '');
const OWN = ['travaux', 'pas', 'sans', 'gros'];

function matchAt(form: RegExp, text: string, at: number): RegExpExecArray | null {
  form.lastIndex = at;
  return form.exec(text);
}

/** A number at this place, with its end. */
function numberAt(text: string, at: number): { words: string[]; end: number; apart: string | null } | null {
  const rooms = matchAt(ROOMS, text, at);
  if (rooms !== null) return { words: [`${rooms[1]}piece`], end: ROOMS.lastIndex, apart: null };
  const written = matchAt(WRITTEN, text, at);
  const values = { deux: '2', trois: '3', quatre: '4', dix: '10', huit: '8' };
  const digits = written === null ? matchAt(DIGITS, text, at) : null;
  if (written === null && digits === null) return null;
  const end = at + ((written ?? digits)?.[0].length ?? 0);
  const whole = digits?.[1]?.replace(/\D/g, '') ?? values[written?.[1] as keyof typeof values];
  const value = digits?.[2] === undefined ? whole : `${whole}.${digits[2]}`.replace(/\.?0+$/, '');
  for (const [name, spelt, word] of UNITS) {
    const unit = matchAt(new RegExp(`(?:${CLOSE}${written === null ? '?' : ''})(?:${spelt})${END}`, 'y'), text, end);
    const apart = name === 'm2' ? null : `${value}~${name}`;
    if (unit !== null) return { words: [value + name, word], end: end + unit[0].length, apart };
  }
  if (/[a-z]/.test(text[end] ?? '')) return null;
  const adjective = `${CLOSE}(?!(?:t|f|sans|aucune?s?|ni|pas|deux|trois|quatre|dix|huit|[tf]?\\d\\w*)${END})[a-z]+`;
  const counted = new RegExp(
    `(?:(?!${CLOSE}(?:chambres|pieces)${END})${adjective}){0,2}${CLOSE}(chambre|piece)s${END}(?!(?<=pieces)${CLOSE}d${CLOSE}eau${END})`,
    'y',
  );
  const behind = matchAt(counted, text, end)?.[1];
  return { words: behind === undefined ? [value] : [value, `${value}~${behind}`], end, apart: null };
}

function read(raw: string): { said: Said[]; apart: (string | null)[]; isNegation: boolean } {
  const text = fold(raw);
  const negated = new Set<number>();
  for (const { index, groups } of text.matchAll(NEGATION)) {
    const behind = groups?.said ?? '';
    const start = text.indexOf(behind, index + 1);
    for (const word of behind.matchAll(/[a-z0-9]+/g)) negated.add(start + word.index);
  }
  const said: Said[] = [];
  const apart: (string | null)[] = [];
  for (let at = 0; at < text.length; at++) {
    const isStart = /[a-z0-9]/.test(text[at] as string) && !/[a-z0-9]/.test(text[at - 1] ?? ' ');
    if (!isStart) continue;
    const number = numberAt(text, at);
    const [word] = matchAt(WORD, text, at) as unknown as [string];
    said.push({ words: number?.words ?? [word], isNegated: negated.has(at) });
    apart.push(number?.apart ?? null);
    at = (number?.end ?? at + word.length) - 1;
  }
  const hasNegation = new RegExp(
    `(?<![a-z0-9])(?:sans|aucune?s?|ni|(?<!${STEP})pas${JOIN}de?(?!${JOIN}l[ae]?${END}))${END}`,
  );
  return { said, apart, isNegation: hasNegation.test(text) };
}

const sameWord = (a: string, b: string): boolean =>
  a === b || (!OWN.includes(a) && !OWN.includes(b) && singular(a) === singular(b));

function isFound(entry: string, texts: readonly string[]): boolean {
  const asked = read(entry);
  const forms = asked.said.map(({ words }, i) => [
    words[0] as string,
    ...(asked.apart[i] === null ? [] : [asked.apart[i] as string]),
  ]);
  const isAt = (place: Said | undefined, step: number): boolean =>
    place?.words.some((word) => forms[step]?.some((form) => sameWord(word, form))) ?? false;
  return texts.some((text) => {
    const { said } = read(text);
    const goesOn = (at: number, step: number): boolean =>
      step === forms.length || [1, 2, 3].some((next) => isAt(said[at + next], step) && goesOn(at + next, step + 1));
    return said.some((place, at) => isAt(place, 0) && (asked.isNegation || !place.isNegated) && goesOn(at, 1));
  });
}

test('the definition and the index read numbers, short forms and negations as an oracle does', () => {
  const random = createRandom(63);
  const table = new ExpressionTable();
  const ids = ENTRIES.map((word) => table.use([[{ word, includes: true, strict: false }]]));
  let found = 0;
  const text = (): string => {
    const length = 2 + Math.floor(10 * random.uniform());
    return Array.from({ length }, () => random.pick(PIECES) + random.pick(SEPARATORS)).join('');
  };
  for (let round = 0; round < runsOf(2_000); round++) {
    const texts = random.chance(0.2) ? [text(), text()] : [text()];
    const folded = foldTexts(texts);
    table.read(texts);
    for (const [i, word] of ENTRIES.entries()) {
      const expected = isFound(word, texts);
      const said = JSON.stringify([word, ...texts]);
      assert.equal(entryHolds({ word, includes: true, strict: false }, folded), expected, said);
      assert.equal(entryHolds({ word, includes: false, strict: false }, folded), !expected, said);
      assert.equal(table.holds(ids[i] as number), expected, said);
      const required = table.requiredOf(ids[i] as number);
      assert.ok(!expected || required === null || required.some((term) => table.text.terms.includes(term)), said);
      found += Number(expected);
    }
  }
  assert.ok(found > runsOf(10_000));
});
