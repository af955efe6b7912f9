/**
 * Numbers, short forms and negations as the decisions define them. The definition and the index are compared, on random
 * texts, with an oracle of regular expressions over the whole text.
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
  "aucune|ni|gros|grands|de|d'|la|le|l'|une|un|neuf|Pas-de-Calais|sans-souci|à deux pas de|n'a pas de|1600m²|non|non-|0|" +
  "zéro|dépourvu de|dépourvues d'|hors|charges|frais|et|ou|avec|: non|: 0|:|loin|seulement|T 100|clefs|cuisine|équipées|" +
  '0,50|100 600 100 600 100 600.|1234567890123456|aucun de gros un de gros un de gros'
).split('|');
const SEPARATORS = [' ', ' ', ' ', ' ', ' ', ' ', ' ', '  ', '\u00a0', ', ', '. ', '\n', ' - ', '-', ' (', '’'];
const ENTRIES = (
  'ascenseur|travaux|terrasse|chambre|pièce|clim|climatisation|T3|F3|T 3|3P|3 pièces|trois pièces|deux pièces|T2|2|deux|3|12|' +
  '100|600|1600|1 600|30|11,3|100m2|100 m²|100 mètres carrés|m²|600 m²|1 600 m²|2ch|2 chambres|deux chambres|3 chambres|' +
  "vue mer|grands travaux|balcon d'eau|sans ascenseur|aucun travaux|pas de travaux|sans|ni|à deux pas de la mer|balcon vue|" +
  'neuf|un|terrasse 100 m²|2 belles chambres|cent|Calais|souci|non|charges|hors frais|zéro travaux|0 travaux|0|avec|' +
  'non loin|100 pièces|clé|cuisine équipée|belle cuisine équipée|1234567890123456|100 600 100 600 100 600|et terrasse'
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
const STEP = `(?<![a-z0-9])(?:\\d{1,15}|${PART}|un|quelques)${JOIN}`;
const SPAN = `(?:${THROUGH}${END}${JOIN}){0,8}[a-z0-9]+`;
const NON = `non(?!${CLOSE}(?:loin|seulement)${END})`;
const WITH_DE = `(?:depourvue?s?|(?<!${STEP})pas(?!${JOIN}de?${JOIN}l[ae]?${END}))${JOIN}de?`;
const HORS = `hors(?=${JOIN}(?:charges?|taxes?|frais|honoraires)${END})`;
const NEGATION = new RegExp(`(?:sans|aucune?s?|ni|zero|${NON}|${WITH_DE}|${HORS})${END}`, 'y');
const NEGATED = new RegExp(`(?:${JOIN}|(?<=non)-)(?=(?<said>(?<=hors.)[a-z]+|${SPAN}))`, 'y');
const MEMBER = new RegExp(
  `${JOIN}(?:ni|et|ou)${JOIN}(?!(?:l[ae]?|une?|de?|a|avec|sans|hors|sur)${END})(?=(?<said>${SPAN}))`,
  'y',
);
const ANSWER = /[ \u00a0'’]*:[ \u00a0'’]*(?:non(?![a-z0-9])|(?=0))/y;
interface Said {
  readonly words: readonly string[];
  readonly isNegated: boolean;
  readonly isDenied: boolean;
}

const fold = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').replaceAll('²', '2').toLowerCase();
const singular = (word: string): string =>
  word.startsWith('clef')
    ? 'cle'
    : word === 'clim'
      ? 'climatisation'
      : word === 'aucune'
        ? 'aucun'
        : word === 'une'
          ? 'un'
          : word.replace(/s$/, '');
const OWN = ['travaux', 'pas', 'sans', 'gros'];

function matchAt(form: RegExp, text: string, at: number): RegExpExecArray | null {
  form.lastIndex = at;
  return form.exec(text);
}

/** The number at this offset, and its end. */
function numberAt(text: string, at: number): { words: string[]; end: number; apart: string | null } | null {
  const rooms = matchAt(ROOMS, text, at);
  if (rooms !== null) return { words: [`${rooms[1]}piece`], end: ROOMS.lastIndex, apart: null };
  const written = matchAt(WRITTEN, text, at);
  const values = { deux: '2', trois: '3', quatre: '4', dix: '10', huit: '8' };
  const digits = written === null ? matchAt(DIGITS, text, at) : null;
  if ((written === null && digits === null) || matchAt(/\d{16}/y, text, at) !== null) return null;
  const end = at + ((written ?? digits)?.[0].length ?? 0);
  const whole = digits?.[1]?.replace(/\D/g, '') ?? values[written?.[1] as keyof typeof values];
  if (`${whole}${digits?.[2] ?? ''}`.length > 15) {
    const unit = matchAt(/(?:m2|ch|p)(?![a-z0-9])|(?![a-z])/y, text, end)?.[0];
    const word = text.slice(at, end + (unit?.length ?? 0)).replace(/[^a-z0-9]/g, '');
    return unit === undefined ? null : { words: [word], end: end + unit.length, apart: null };
  }
  const value = digits?.[2] === undefined ? whole : `${whole}.${digits[2]}`.replace(/\.?0+$/, '');
  for (const [name, spelt, word] of UNITS) {
    const unit = matchAt(new RegExp(`(?:${CLOSE}${written === null ? '?' : ''})(?:${spelt})${END}`, 'y'), text, end);
    const apart = name === 'm2' ? null : `${value}~${name}`;
    if (unit !== null) return { words: [value + name, word], end: end + unit[0].length, apart };
  }
  if (/[a-z]/.test(text[end] ?? '')) return null;
  const adjective = `${CLOSE}(?!(?:t|f|sans|aucune?s?|ni|non|zero|hors|depourvue?s?|pas|deux|trois|quatre|dix|huit|[tf]?\\d\\w*)${END})[a-z]+`;
  const counted = new RegExp(
    `(?:(?!${CLOSE}(?:chambres|pieces)${END})${adjective}){0,2}${CLOSE}(chambre|piece)s${END}(?!(?<=pieces)${CLOSE}d${CLOSE}eau${END})`,
    'y',
  );
  const behind = matchAt(counted, text, end)?.[1];
  return { words: behind === undefined ? [value] : [value, `${value}~${behind}`], end, apart: null };
}

/** End of the words to which a negation at this offset applies; null if there is none. */
function negatedUpTo(text: string, at: number, isZero: boolean): number | null {
  if (isZero) {
    const said = matchAt(new RegExp(`0(?=${JOIN}(?<said>${SPAN}))${JOIN}`, 'y'), text, at);
    const next = at + (said?.[0].length ?? 0);
    const isUnit = UNITS.some(([, spelt]) => matchAt(new RegExp(`(?:${spelt})${END}`, 'y'), text, next) !== null);
    return said === null || isUnit || numberAt(text, next) !== null ? null : next + (said.groups?.said?.length ?? 0);
  }
  const [word] = matchAt(NEGATION, text, at) ?? [];
  if (word === undefined) return null;
  const negated = matchAt(NEGATED, text, at + word.length);
  if (negated === null) return at + word.length;
  const end = NEGATED.lastIndex + (negated.groups?.said?.length ?? 0);
  const member = /^(?:sans|a|ni)/.test(word) ? matchAt(MEMBER, text, end) : null;
  return member === null || numberAt(text, MEMBER.lastIndex) !== null
    ? end
    : end + member[0].length + (member.groups?.said?.length ?? 0);
}

function isAnswered(text: string, at: number): boolean {
  const answer = matchAt(ANSWER, text, at)?.[0];
  if (answer === undefined) return false;
  return (
    answer.endsWith('n') ||
    (matchAt(/0(?:,0+)?(?!\d|,\d)(?:m2|ch|p)?(?![a-z])/y, text, at + answer.length) ?? null) !== null
  );
}

function read(raw: string): { said: Said[]; apart: (string | null)[]; isNegation: boolean } {
  const text = fold(raw);
  const said: Said[] = [];
  const apart: (string | null)[] = [];
  let negatedEnd = 0;
  let isNegation = false;
  for (let at = 0; at < text.length; at++) {
    const isStart = /[a-z0-9]/.test(text[at] as string) && !/[a-z0-9]/.test(text[at - 1] ?? ' ');
    if (!isStart) continue;
    const number = numberAt(text, at);
    const [word] = matchAt(WORD, text, at) as unknown as [string];
    const end = number?.end ?? at + word.length;
    said.push({ words: number?.words ?? [word], isNegated: at < negatedEnd, isDenied: isAnswered(text, end) });
    apart.push(number?.apart ?? null);
    const negated = negatedUpTo(text, at, number?.words[0] === '0');
    isNegation ||= negated !== null;
    negatedEnd = Math.max(negatedEnd, negated ?? 0);
    at = end - 1;
  }
  return { said, apart, isNegation };
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
    const isWide = (at: number, step: number): boolean =>
      sameWord(forms[step - 1]?.[0] ?? '', 'cuisine') &&
      sameWord(forms[step]?.[0] ?? '', 'equipee') &&
      said.slice(at + 1, at + 4).some(({ words }) => words[0] === 'et');
    const goesOn = (at: number, step: number): boolean =>
      step === forms.length
        ? asked.isNegation || !said[at]?.isDenied
        : [1, 2, 3, ...(isWide(at, step) ? [4] : [])].some(
            (next) => isAt(said[at + next], step) && goesOn(at + next, step + 1),
          );
    return said.some((place, at) => isAt(place, 0) && (asked.isNegation || !place.isNegated) && goesOn(at, 1));
  });
}

test('the definition and the index read numbers, abbreviations and negations as an oracle does', () => {
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
