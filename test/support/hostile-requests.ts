/**
 * The most expensive requests that one client can send in at most 1 MiB. Each body, header or query string makes
 * reading, checking, storing, indexing or answering as expensive as possible. The seed decides the random shapes.
 */

import { createRandom, type Random } from '../../bench/adverts/seeded-random.ts';
import { membersOf } from '../../src/engine/domain/criterion-table.ts';
import { BODY_BYTES_MAX } from '../../src/rest/json-body.ts';

export interface HostileRequest {
  readonly name: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** Node.js refuses more than 16 KiB of headers, including the request line. */
const HEADER_BYTES = 14_000;

export function hostileRequests(seed: number): readonly HostileRequest[] {
  const random = createRandom(seed);
  const bodies = { ...generalBodies(), ...listBodies(), ...expressionBodies(), ...shapeBodies(random) };
  return [
    ...Object.entries(bodies).map(([name, body]) => ({
      ...{ name, method: 'POST', path: '/searches', body },
      headers: { 'Content-Type': 'application/json' },
    })),
    ...Object.entries(hostileHeaders()).map(([name, headers]) => ({
      ...{ name, method: 'GET', path: '/users', headers, body: null },
    })),
    ...Object.entries(hostileQueries()).map(([name, path]) => ({ name, method: 'GET', path, headers: {}, body: null })),
  ] as HostileRequest[];
}

/** `head`, then as many comma-separated `unit`s with ascending numbers as fit, then `tail`: close to 1 MiB. */
function filled(head: string, unit: (index: number) => string, tail: string): string {
  const parts: string[] = [];
  let left = BODY_BYTES_MAX - Buffer.byteLength(head) - Buffer.byteLength(tail);
  for (let index = 0; ; index++) {
    const part = unit(index);
    left -= Buffer.byteLength(part) + 1;
    if (left < 0) break;
    parts.push(part);
  }
  return head + parts.join(',') + tail;
}

function member(name: string, unit: (index: number) => string, [open, close]: readonly [string, string] = ['[', ']']) {
  return filled(`{"title":"x","${name}":${open}`, unit, `${close}}`);
}

/** A body of about 1 MiB, whose member `name` is a long string of repeated `unit`. */
function long(name: string, unit: string, head = '', tail = ''): string {
  const text = unit.repeat(Math.floor((BODY_BYTES_MAX - 100 - head.length) / Buffer.byteLength(unit)));
  return `{"title":"x","${name}":"${head}${text}${tail}"}`;
}

function deep(name: string, open: string, close: string): string {
  const levels = Math.floor((BODY_BYTES_MAX - 100) / (open.length + close.length));
  return `{"title":"x","${name}":${open.repeat(levels)}${close.repeat(levels)}}`;
}

function generalBodies(): Record<string, string> {
  return {
    'unknown members': filled('{"title":"x",', (i) => `"k${i}":0`, '}'),
    'members that are nearly known': filled('{"title":"x",', (i) => `"includedDepartmen${i}":0`, '}'),
    'unknown members of 60 characters': filled('{"title":"x",', (i) => `"${String(i).padStart(60, 'é')}":0`, '}'),
    'one name of a megabyte': `{"title":"x","${'k'.repeat(BODY_BYTES_MAX - 40)}":0}`,
    'the title, again and again': filled('{', () => '"title":"x"', '}'),
    'members to be ignored': filled('{"title":"x",', (i) => `"@k${i}":0`, '}'),
    'escaped names': filled('{"title":"x",', (i) => `"\\u00e9${i}":0`, '}'),
    'an array': filled('[', () => '0', ']'),
    'arrays in an array': filled('[', () => '[]', ']'),
    'a title of a megabyte': long('title', 'x'),
    'a title that folds to eighteen times as much': long('title', 'ﷺ'),
    'a title of escaped surrogates': long('title', '\\ud83c\\udfe0', '', '\\ud800'),
    'a number of a million digits': `{"title":"x","budgetMin":${'9'.repeat(BODY_BYTES_MAX - 40)}}`,
    'a decimal of a million digits': long('lat', '1'),
    'a recipient of a megabyte': long('notificationRecipient', 'a'),
    'a recipient of many labels': long('notificationRecipient', 'a.', 'a@'),
    'a recipient with many at signs': long('notificationRecipient', 'a@'),
    'an endpoint of a megabyte': long('endpointRecipient', 'a.', 'https://'),
    'an endpoint of many escapes': long('endpointRecipient', '%25', 'https://a.example/'),
    'objects under an unknown name': member('k', () => '{}'),
  };
}

const ALL_LISTS = (['cities', 'departments', 'siteCategories', 'zipcodes', 'inseeCodes'] as const).flatMap((form) => [
  ...membersOf(form),
]);

/** The lists `names`, each with `count` items. */
function fullLists(names: readonly string[], count: number, item: (index: number) => string): string {
  const lists = names.map((name) => `"${name}":[${Array.from({ length: count }, (_, i) => item(i)).join(',')}]`);
  return `{"title":"x",${lists.join(',')}}`;
}

function listBodies(): Record<string, string> {
  return {
    'includedCities of zeros': member('includedCities', () => '0'),
    'includedCities of objects': member('includedCities', () => '{"@id":0}'),
    'includedCities of IRIs': member('includedCities', (i) => `"/cities/${i}"`),
    'includedZipcodes of texts': member('includedZipcodes', () => '"x"'),
    'subscribedEvents of texts': member('subscribedEvents', () => '"x"'),
    'subscribedEvents that are known': member('subscribedEvents', () => '"ad.update.price"'),
    'propertyTypes of zeros': member('propertyTypes', () => '0'),
    'every list full of unknown IRIs': fullLists(ALL_LISTS, 2_000, (i) => `"/cities/${900_000_000 + i}"`),
    'every list full of invalid IRIs': fullLists(ALL_LISTS, 2_000, () => '{"@id":"x"}'),
    'every list full of long texts': fullLists(ALL_LISTS, 2_000, () => `"${'x'.repeat(60)}"`),
    'cities that are objects of many members': fullLists(['includedCities'], 2_000, (i) => {
      const members = Array.from({ length: 40 }, (_, k) => `"a${k}":0`);
      return `{"@id":"/cities/${1_001 + i}",${members.join(',')}}`;
    }),
    'two full lists of cities': fullLists(['includedCities', 'excludedCities'], 2_000, (i) => `"/cities/${1_001 + i}"`),
  };
}

/** A body whose expressions are a query string of `unit`s, shorter than `left` characters. */
function query(unit: (index: number) => string, left = BODY_BYTES_MAX - 100): string {
  let text = '';
  for (let index = 0; text.length + unit(index).length < left; index++) text += unit(index);
  return JSON.stringify({ title: 'x', expressions: text });
}

const EXPRESSIONS_BYTES = 64 * 1024;

function expressionBodies(): Record<string, string> {
  const name = 'expressions';
  return {
    'expressions of one word': long(name, 'a', 'expressions[0][0][word]='),
    'expressions of brackets': long(name, '['),
    'expressions of ampersands': long(name, '&'),
    'expressions of escapes': long(name, '%E9', 'expressions[0][0][word]='),
    'expressions of pairs': query((i) => `expressions[${i}][0][word]=x&`),
    '64 KiB of pairs': query((i) => `expressions[${i}][0][word]=x&`, EXPRESSIONS_BYTES),
    '64 KiB of one pair': query(() => 'expressions[0][0][word]=x&', EXPRESSIONS_BYTES),
    '64 KiB of brackets in a name': query((i) => (i === 0 ? 'expressions' : '[0]'), EXPRESSIONS_BYTES),
    '64 KiB of names': query((i) => `k${i}&`, EXPRESSIONS_BYTES),
    '64 KiB of entries': query((i) => `expressions[][${i}][word]=xyz&`, EXPRESSIONS_BYTES),
    'entries without a word': member(name, () => '{}'),
    'groups without an entry': member(name, () => '[]'),
    'entries with an unknown member': member(name, (i) => `{"word":"x","k${i}":0}`),
    'one entry of many members': member(name, (i) => `"k${i}":0`, ['[{"word":"x",', '}]']),
    'options of many members': member(name, (i) => `"k${i}":0`, ['[{"word":"x","options":{', '}}]']),
    'words that fold to eighteen times as much': JSON.stringify({
      title: 'x',
      expressions: [Array.from({ length: 35 }, (_, i) => ({ word: `${i} ${'ﷺ'.repeat(190)}`, includes: false }))],
    }),
    'entries of eighty words': JSON.stringify({
      title: 'x',
      expressions: Array.from({ length: 50 }, (_, g) =>
        Array.from({ length: 4 }, (_, i) => ({ word: 'a b '.repeat(40) + g + i, includes: i % 2 === 0 })),
      ),
    }),
    'expressions that are deep': deep(name, '[', ']'),
    'expressions of deep entries': deep(name, '{"word":', '}').replace('}}', '0}}'),
  };
}

function shapeBodies(random: Random): Record<string, string> {
  const name = 'geoShapes';
  const degrees = (max: number) => ((random.uniform() * 2 - 1) * max).toFixed(12);
  const position = () => `[${degrees(180)},${degrees(90)}]`;
  const ring = (corners: number) => {
    const first = position();
    return `[${[first, ...Array.from({ length: corners - 2 }, position), first].join(',')}]`;
  };
  const square = (i: number, size = 0.001) => {
    const [lon, lat] = [(i % 400) / 100, 43 + Math.floor(i / 400) / 100];
    const corners = [
      [lon, lat],
      [lon + size, lat],
      [lon + size, lat + size],
      [lon, lat],
    ];
    return JSON.stringify(corners);
  };
  const shapes = (items: readonly string[]) => `{"title":"x","geoShapes":[${items.join(',')}]}`;
  const squares = (count: number, size?: number) => Array.from({ length: count }, (_, i) => square(i, size));
  return {
    'shapes without a corner': member(name, () => '[]'),
    'shapes that are objects': member(name, () => '{}'),
    'rings without a corner': member(name, () => '[]', ['[[', ']]']),
    'one ring of zeros': member(name, () => '[0,0]', ['[[', ']]']),
    'many small shapes': member(name, () => '[[0,0],[1,0],[1,1],[0,0]]'),
    'a MultiPolygon of nothing': member(name, () => '[]', ['{"type":"MultiPolygon","coordinates":[', ']}']),
    'a Polygon of nothing': member(name, () => '[]', ['[{"type":"Polygon","coordinates":[', ']}]']),
    'a ring of 5,000 random corners, which crosses itself': shapes([ring(5_000)]),
    'a thousand random shapes as large as the world': shapes(Array.from({ length: 1_000 }, () => ring(5))),
    '1,250 small shapes apart': shapes(squares(1_250)),
    '1,250 shapes over each other': shapes(squares(1_250, 3)),
    'shapes that are deep': deep(name, '[', ']'),
    'many shapes that are deep': member(name, () => `${'['.repeat(400)}${']'.repeat(400)}`),
  };
}

function repeated(unit: (index: number) => string, separator: string): string {
  const parts: string[] = [];
  for (let index = 0, bytes = 0; bytes < HEADER_BYTES; index++) {
    const part = unit(index);
    bytes += part.length + separator.length;
    if (bytes < HEADER_BYTES) parts.push(part);
  }
  return parts.join(separator);
}

function hostileHeaders(): Record<string, Record<string, string>> {
  return {
    'Accept of many types': { Accept: repeated((i) => `a/${i}`, ',') },
    'Accept of one type again and again': { Accept: repeated(() => 'a/b', ',') },
    'Accept of many parameters': { Accept: `application/json${repeated((i) => `;a${i}=b`, '')}` },
    'Accept of many quotes': { Accept: `application/json${repeated(() => ';a=" ', '')}` },
    'Accept of many semicolons': { Accept: `application/json${repeated(() => '; ', '')}` },
    'Accept-Encoding of many codings': { 'Accept-Encoding': repeated((i) => `a${i}`, ',') },
    'Accept-Encoding of one coding again and again': { 'Accept-Encoding': repeated(() => 'a', ',') },
    'If-None-Match of many tags': { 'If-None-Match': repeated((i) => `W/"${i}+a"`, ',') },
    'If-None-Match of plus signs': { 'If-None-Match': `"${repeated(() => '+', '')}"` },
    'a long key': { 'X-API-KEY': 'x'.repeat(HEADER_BYTES) },
  };
}

function hostileQueries(): Record<string, string> {
  return {
    'many facilities': `/indicators/points_of_interest?lat=1&lon=1&${repeated(() => 'facilities[]=school', '&')}`,
    'many properties': `/documents/properties?${repeated(() => 'uuid[]=x', '&')}`,
    'many parameters': `/searches?${repeated((i) => `p${i}=1`, '&')}`,
    'one parameter again and again': `/searches?${repeated(() => 'page=1', '&')}`,
    'a list of brackets': `/searches?${repeated(() => '[]', '')}=1`,
    'many ampersands': `/searches?${repeated(() => '&', '')}`,
    'the 300th page of cities': '/cities?itemsPerPage=100&page=300',
    'many codes of cities': `/cities?${repeated((i) => `inseeCodes[]=${i}`, '&')}`,
    'many words of a place': `/public/location-autocomplete?query=${'a+e+i+o+u+l+d+s+'.repeat(6)}`,
    'a long path': `/searches/${'a/'.repeat(HEADER_BYTES / 2)}`,
    'a path of escapes': `/searches/${'%41'.repeat(HEADER_BYTES / 3)}`,
    'the whole description': '/openapi.json',
    'the whole documentation': '/docs.jsonld',
  };
}
