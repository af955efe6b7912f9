/** Compares entries with a person's reading of 1,250 real adverts, which the project does not ship (../shared/data). */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { entryHolds } from '../src/engine/domain/expressions.ts';
import { foldText } from '../src/engine/domain/text.ts';
import { foldTexts } from '../src/engine/domain/word-phrases.ts';
import { SHARED_DATA } from './support/checkout.ts';
import { READ_PHRASES, READ_WORDS } from './support/read-words.ts';

const ADVERTS = new URL('adverts/toulon_bienici_2026-03-10.csv.gz', SHARED_DATA);
const skip = !existsSync(ADVERTS) && 'the real adverts are missing';
const TEXTS = 1_250;
const READ_FIRST = 1 / 3;
/** Expressions that a person reads as a negation, for texts before folding. */
const THROUGH = "(?:de |d['’]|une? |aucune? |gros |grande? )*";
const BEFORE =
  "(?:sans|aucune?|ni|zéro|0|non(?! loin| seulement)|dépourvue?s? d(?=e |['’])|" +
  "(?<!(?:\\d|deux|trois|quatre|quelques)\\s)pas (?:de (?!la |le |l['’])|d['’]))";
const SECOND = `(?: (?:ni|et|ou) (?!(?:le|la|les|l|une?|de|d|du|des|avec|à|au|aux|en|dans|pour|sur|\\d+)[ '’])${THROUGH}[\\p{L}\\p{N}]+)?`;
const DENIED = new RegExp(
  `(?<![\\p{L}\\p{N}-])(?:(?:sans|aucune?|ni)\\s+${THROUGH}[\\p{L}\\p{N}]+${SECOND}|${BEFORE}\\s*${THROUGH}[\\p{L}\\p{N}]+|` +
    'non-[\\p{L}]+|hors (?:charges?|taxes?|frais|honoraires))|[\\p{L}\\p{N}]+\\s?:\\s?(?:non|0)(?![\\p{L}\\p{N},])',
  'giu',
);

interface Row {
  readonly title: string;
  readonly description: string;
}

interface Tally {
  hits: number;
  /** Hits that have another meaning. */
  others: number;
  /** The hits among these that the rule of phrases finds nevertheless (`isNegatedWithin`). */
  negatedWithin: number;
  /** Occurrences that the person expects and the entry does not find. */
  missed: number;
  /** The occurrences among these that the rule of phrases excludes (`isBeyondRule`). */
  beyondRule: number;
}

function readTexts(): readonly (readonly string[])[] {
  const rows = parse(gunzipSync(readFileSync(ADVERTS)), { columns: true }) as Row[];
  const byDescription = new Map(rows.map((row) => [row.description, [row.title, row.description]]));
  return [...byDescription.values()].slice(0, TEXTS);
}

function tallyOf(entries: readonly (readonly [string, RegExp])[], texts: readonly (readonly string[])[]): Tally {
  const tally = { hits: 0, others: 0, negatedWithin: 0, missed: 0, beyondRule: 0 };
  const folded = texts.map(foldTexts);
  const asWritten = texts.map((text) => text.map(foldText).join(' | '));
  const affirmed = texts.map((text) => text.map((one) => foldText(one.replace(DENIED, ' '))).join(' | '));
  for (const [word, read] of entries) {
    const plain = /^(?:sans|pas) /.test(word) ? asWritten : affirmed;
    for (const [i, text] of folded.entries()) {
      const isHit = entryHolds({ word, includes: true, strict: false }, text);
      const found = read.exec(plain[i] as string)?.[0];
      const isRead = found !== undefined;
      tally.hits += Number(isHit);
      tally.others += Number(isHit && !isRead);
      tally.negatedWithin += Number(isHit && !isRead && isNegatedWithin(word, asWritten[i] as string));
      tally.missed += Number(isRead && !isHit);
      tally.beyondRule += Number(isRead && !isHit && isBeyondRule(word, found));
    }
  }
  return tally;
}

const BETWEEN_MAX = 2;
const FIRST_LETTERS = 4;

/**
 * The rule of phrases demands all words, in order, with at most two others between neighbours. A person also accepts
 * "cuisine indépendante aménagée et équipée", "charges faibles" or "local vélo".
 */
function isBeyondRule(phrase: string, found: string): boolean {
  const [asked, words] = [foldText(phrase).split(' '), found.split(' ')];
  const isInOrder = found.startsWith((asked[0] as string).slice(0, FIRST_LETTERS));
  return !isInOrder || words.length < asked.length || words.length - asked.length > BETWEEN_MAX * (asked.length - 1);
}

/** A phrase is only negated before its first word (decisions, section 2): "cuisine non équipée" is a fitted kitchen. */
function isNegatedWithin(phrase: string, text: string): boolean {
  const [first = '', second = ''] = foldText(phrase).split(' ');
  const stems = [first, second].map((word) => `${word.slice(0, FIRST_LETTERS)}\\S*`);
  return second !== '' && new RegExp(`(?<!\\S)${stems.join(' non ')}`).test(text);
}

function assertRead({ hits, others, missed }: Tally, { othersMax, missedMax }: Record<string, number>): void {
  assert.ok(hits > 1_000);
  assert.ok(others / hits <= (othersMax as number), `${others} of ${hits} hits mean something else`);
  const expected = hits - others + missed;
  assert.ok(missed / expected <= (missedMax as number), `${missed} of ${expected} expected are missed`);
}

function withinRule(tally: Tally): Tally {
  const { others, negatedWithin, missed, beyondRule } = tally;
  return { ...tally, others: others - negatedWithin, missed: missed - beyondRule };
}

function thirds<Item>(items: readonly Item[]): readonly [first: readonly Item[], heldOut: readonly Item[]] {
  const first = Math.round(items.length * READ_FIRST);
  return [items.slice(0, first), items.slice(first)];
}

test('at most 2 % of the hits of a word have another meaning and at most 1 % of the expected ones are missed', {
  skip,
}, () => {
  assert.equal(READ_WORDS.length, 60);
  for (const words of thirds(READ_WORDS)) assertRead(tallyOf(words, readTexts()), { othersMax: 0.02, missedMax: 0.01 });
});

test('phrases have their meaning, and at most 1 % of the hits that the rule allows are missed', { skip }, () => {
  assert.equal(READ_PHRASES.length, 30);
  const tallies = thirds(READ_PHRASES).map((phrases) => tallyOf(phrases, readTexts()));
  for (const tally of tallies) assertRead(withinRule(tally), { othersMax: 0.001, missedMax: 0.01 });
  // `missed` now includes occurrences beyond the rule; the first third has some on purpose.
  const [first, heldOut] = tallies as [Tally, Tally];
  assertRead({ ...first, others: withinRule(first).others }, { othersMax: 0.001, missedMax: 0.1 });
  assertRead({ ...heldOut, others: withinRule(heldOut).others }, { othersMax: 0.001, missedMax: 0.022 });
});
