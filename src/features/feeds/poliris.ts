/** Poliris 4, the format of nearly all French portals: converts a record's fields to members of the intake contract. */

import { isUtf8 } from 'node:buffer';
import {
  type FeedRow,
  type Line,
  LOST_LENGTH_MAX,
  type Loss,
  linesOf,
  NAMES_COLUMNS,
  NOTHING_UNDERSTOOD,
  plainLine,
  plainText,
  referenceFault,
  SnapshotRefusedError,
  webAddress,
} from './feed-row.ts';
import { floorsIn } from './floors.ts';
import { createNumberReader, type NumberReader } from './numbers.ts';
import { featuresOf, laterFeaturesOf } from './poliris-features.ts';

/** `source`: publisher name for records that state none. */
export async function* readPoliris(
  bytes: AsyncIterable<Buffer>,
  source: string,
  numbers: NumberReader = createNumberReader(),
): AsyncGenerator<FeedRow> {
  let isFirst = true;
  for await (const record of polirisRecords(bytes)) {
    yield rowOf(record, source, numbers, isFirst);
    isFirst = false;
  }
}

/** A line of column names has at least this many unusable values: kind, price, surface. */
const NAMES_FROM = 3;

function rowOf(
  { line, fields, fault }: PolirisRecord,
  source: string,
  numbers: NumberReader,
  isFirst: boolean,
): FeedRow {
  const record = createReader(fields, numbers);
  const [agency, own] = [record.line(1), record.line(2)];
  const reference = agency === '' ? own : `${agency}/${own}`;
  // The last field of an incomplete record may be truncated.
  const isNamed = fields.length > 2 && referenceFault(reference) === null;
  if (fault !== null) return { kind: 'complaint', line, reference: isNamed ? reference : null, reason: fault };
  const nameless = referenceFault(own) ?? referenceFault(reference);
  if (nameless !== null) return { kind: 'complaint', line, reference: null, reason: nameless };
  const property = propertyOf(record);
  const advert = advertOf(record, source);
  const laterFeatures = laterFeaturesOf(record, advert.features);
  const features = [...advert.features, ...laterFeatures];
  const content = { property, advert: { ...advert, features } };
  const { losses } = record;
  const { title, description } = content.advert;
  const { zipcode, name } = content.property.city;
  const hasText = [title, description, zipcode, name].some((text) => text !== '');
  if (record.understoodCount() === 0 && losses.length >= (hasText ? NAMES_FROM : 1))
    return isFirst && losses.length >= NAMES_FROM
      ? { kind: 'left out', line, reference: null, reason: NAMES_COLUMNS }
      : { kind: 'complaint', line, reference, reason: NOTHING_UNDERSTOOD, losses };
  const technical = record.line(175).replace(/^0+$/, '');
  return { kind: 'advert', line, reference, keys: { own, technical }, content, laterFeatures, losses };
}

type Reader = ReturnType<typeof createReader>;

/** Reads fields by their number in the format, from 1. An unusable value is reported and counts as unknown. */
function createReader(fields: readonly string[], numbers: NumberReader) {
  const losses: Loss[] = [];
  let understood = 0;
  const raw = (field: number): string => fields[field - 1]?.trim() ?? '';
  const lose = (field: number, member: string, fault: string): null => {
    losses.push({ member, fault, value: JSON.stringify(raw(field).slice(0, LOST_LENGTH_MAX)) });
    return null;
  };
  const keep = <Value>(value: Value): Value => {
    understood += 1;
    return value;
  };
  const number = (field: number, member: string): number | null => {
    const written = raw(field);
    if (written === '') return null;
    const value = numbers.read(written, member);
    return typeof value === 'number' ? keep(value) : lose(field, member, value);
  };
  return {
    losses,
    understoodCount: () => understood,
    raw,
    line: (field: number) => plainLine(raw(field)),
    text: (field: number) => plainText(raw(field)),
    word: (field: number) => folded(raw(field)),
    number,
    /** Programs write 0 for an empty field. */
    amount: (field: number, member: string) => number(field, member) || null,
    /** `codeOf` returns undefined for a word that is not understood, and null for a known word without a code. */
    code(field: number, member: string, codeOf: (word: string) => number | null | undefined): number | null {
      const word = folded(raw(field));
      if (word === '') return null;
      const code = codeOf(word);
      return code === undefined ? lose(field, member, 'not a known word') : keep(code);
    },
    rating(field: number, member: string): string | null {
      const letter = raw(field).toUpperCase();
      if (/^[A-G]$/.test(letter)) return keep(letter);
      return letter === '' || NO_RATING.test(letter) ? null : lose(field, member, 'not a valid code');
    },
    flag(field: number, member: string): boolean | null {
      const word = folded(raw(field));
      if (word === '' || word === '0') return null;
      if (YES.test(word)) return keep(true);
      return NO.test(word) ? keep(false) : lose(field, member, 'neither OUI nor NON');
    },
    has: (field: number) => /^(?:oui|o|[1-9]\d*)$/i.test(raw(field)),
    zipcode(field: number): string {
      const written = plainLine(raw(field));
      return /^\d{4,5}$/.test(written) ? keep(written) : written;
    },
    /** A photo may be the name of a file in the archive, which has no public address. */
    address(field: number, member: string): string | null {
      if (raw(field) === '') return null;
      const address = webAddress(raw(field));
      return address === null ? lose(field, member, 'not a web address') : keep(address);
    },
  };
}

/** Codes of properties that are exempt, rated without figures, or not rated. Programs write 0 for an empty field. */
const NO_RATING = /^(?:NS|VI|N|0)$/;
const YES = /^(?:oui|o|1|vrai|true)$/;
const NO = /^(?:non|n|faux|false)$/;

function folded(word: string): string {
  return word
    .normalize('NFD')
    .replaceAll(/[\p{M}\p{Default_Ignorable_Code_Point}]/gu, '')
    .toLowerCase();
}

function propertyOf(record: Reader) {
  const [lat, lon] = [record.amount(298, 'locations.lat'), record.amount(299, 'locations.lon')];
  return {
    transactionType: record.code(3, 'transactionType', transactionTypeOf),
    propertyType: record.code(4, 'propertyType', propertyTypeOf),
    room: record.amount(18, 'room'),
    bedroom: record.amount(19, 'bedroom'),
    // Programs write 0 for an empty coordinate, and one coordinate alone is useless.
    locations: lat === null || lon === null ? null : { lat, lon },
    city: { zipcode: record.zipcode(108) || record.zipcode(5), name: record.line(109) || record.line(6) },
  };
}

function advertOf(record: Reader, source: string) {
  const name = record.line(106);
  return {
    title: record.line(20),
    description: record.text(21),
    virtualTour: record.address(104, 'virtualTour'),
    contact: { email: record.line(107), name, phone: record.line(105), reference: record.line(2) },
    publisher: { category: 'Agence', name: name || source, type: 1 },
    features: featuresOf(record),
    energy: ratingOf(record, 176, 'energy'),
    greenHouseGas: ratingOf(record, 178, 'greenHouseGas'),
    constructionYear: record.amount(27, 'constructionYear'),
    floorQuantity: record.amount(25, 'floorQuantity') ?? floorsIn(record.raw(24)).floorQuantity,
    floor: record.number(24, 'floor'),
    lotCount: record.amount(259, 'lotCount'),
    ...moneyOf(record),
    surface: record.amount(16, 'surface'),
    landSurface: record.amount(17, 'landSurface'),
    elevator: record.flag(41, 'elevator'),
    furnished: record.flag(26, 'furnished'),
    pictures: PHOTO_FIELDS.map((field) => record.address(field, 'pictures')).filter((address) => address !== null),
  };
}

function moneyOf(record: Reader) {
  const isRent = transactionTypeOf(record.word(3)) === 1;
  return {
    // The price as written, even if fields 13 (rent includes charges), 14 or 245 (price excludes VAT) qualify it.
    price: record.amount(11, 'price'),
    priceExcludingFees: record.amount(303, 'priceExcludingFees'),
    feesPercentage: record.amount(257, 'feesPercentage'),
    feesResponsibility: record.code(302, 'feesResponsibility', responsibleOf),
    rentalCharges: isRent ? record.amount(23, 'rentalCharges') : null,
    condominiumFees: isRent ? null : record.amount(260, 'condominiumFees'),
    rentalPledge: record.amount(161, 'rentalPledge'),
  };
}

/** Field 302 as a code of the contract. Other numbers mean both parties or neither; other words are not understood. */
function responsibleOf(word: string): number | null | undefined {
  const [, name = word] = /^(?:(?:a la )?charges? )?(?:de l.|du )?(acquereur|vendeur)$/.exec(word) ?? [];
  if (name === '1' || name === 'acquereur') return 1;
  if (name === '2' || name === 'vendeur') return 0;
  return /^\d+$/.test(word) ? null : undefined;
}

/** A consumption of 0 means empty. Emissions of 0 are valid if the property is rated. */
function ratingOf(record: Reader, field: number, member: string) {
  const category = record.rating(field + 1, `${member}.category`);
  const value = record.number(field, `${member}.value`);
  return { category, value: value === 0 && (member === 'energy' || category === null) ? null : value };
}

/** Number of fields in version 4.1, the oldest in use. Real exports have one or two more. */
const POLIRIS_FIELDS = 333;
const SEPARATOR = '"!#"';
const QUOTE = 0x22;
const LINE_END = Buffer.from('\n');
/** Occurs inside a field if a record with too few fields is read together with the next record. */
const RECORD_END = /"(?:!#)?\s*\n"/;
const RECORD_LINES_MAX = 1_000;
const RECORD_BYTES_MAX = 4 * 1_024 * 1_024;

const windows1252 = new TextDecoder('windows-1252');
/** Without `stream`, Node.js 20 decodes Windows-1252 as Latin-1 and loses apostrophes and euro signs. */
const STREAMED = { stream: true };

interface PolirisRecord {
  /** Line where the record begins. */
  readonly line: number;
  /** Zero-based: field n of the format is at index n − 1. For an incomplete record, the fields before its end. */
  readonly fields: readonly string[];
  /** Null if the record is readable. */
  readonly fault: string | null;
}

/**
 * Splits a Poliris file (`"value"!#"value"!#…`, one record per line) into records. Values may contain line breaks, so a
 * record ends once it has all its fields. The encoding is detected per record: programs write Windows-1252 or UTF-8,
 * and Windows-1252 text is hardly ever valid UTF-8. Throws `SnapshotRefusedError` if the file has another format or is
 * cut off.
 */
async function* polirisRecords(bytes: AsyncIterable<Buffer>): AsyncGenerator<PolirisRecord> {
  let open: Line[] = [];
  let openBytes = 0;
  let separators = 0;
  let fieldsUsual = 0;
  const close = (isBroken: boolean): PolirisRecord => {
    const record = recordOf(open, isBroken, fieldsUsual);
    if (record.fault === null) fieldsUsual ||= record.fields.length;
    [open, openBytes, separators] = [[], 0, 0];
    return record;
  };
  for await (const line of linesOf(bytes)) {
    if (open.length === 0 && line.bytes.length < POLIRIS_FIELDS && line.bytes.every(isBlank)) continue;
    const separatorsHere = separatorsIn(line.bytes);
    if (open.length > 0 && isWhole(line, line, separatorsHere)) yield close(true);
    open.push(line);
    openBytes += line.bytes.length;
    separators += separatorsHere;
    if (fieldsUsual === 0 && separators === 0)
      throw new SnapshotRefusedError(`The file is not Poliris: line ${line.number} has no fields joined by !#.`);
    if (isWhole(open[0] as Line, line, separators)) {
      const record = close(false);
      if (!line.isEnded && record.fields.length < fieldsUsual) throw cutOff(line);
      yield record;
    } else if (open.length > RECORD_LINES_MAX || openBytes > RECORD_BYTES_MAX)
      throw new SnapshotRefusedError(`The record that begins at line ${(open[0] as Line).number} has no end.`);
  }
  if (open.length > 0) throw cutOff(open.at(-1) as Line);
}

/** Includes the end-of-file mark of DOS (0x1a). */
function isBlank(byte: number): boolean {
  return byte <= 0x20 && byte !== 0;
}

/** True if the record has all its fields and nothing after them. */
function isWhole(first: Line, last: Line, separators: number): boolean {
  if (separators < POLIRIS_FIELDS - 1 || first.bytes[0] !== QUOTE) return false;
  return /"(?:!#)?\s*$/.test(last.bytes.toString('latin1', Math.max(0, last.bytes.length - 16)));
}

function separatorsIn(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(SEPARATOR); at !== -1; at = bytes.indexOf(SEPARATOR, at + 3)) count += 1;
  return count;
}

function recordOf(lines: readonly Line[], isBroken: boolean, fieldsUsual: number): PolirisRecord {
  const bytes = Buffer.concat(lines.flatMap((each, at) => (at === 0 ? [each.bytes] : [LINE_END, each.bytes])));
  const text = isUtf8(bytes) ? bytes.toString('utf8') : windows1252.decode(bytes, STREAMED);
  const inner = text.replace(/!#\s*$/, '').replace(/^"/, '');
  const fields = inner.replace(/"\s*$/, '').split(SEPARATOR);
  const { number: line } = lines[0] as Line;
  const isJoined = (): boolean =>
    fields.length >= 2 * POLIRIS_FIELDS - 1 || fields.some((each) => RECORD_END.test(each));
  const isTwo = fieldsUsual > 0 ? fields.length > fieldsUsual : isJoined();
  if (isTwo) return { line, fields: [], fault: 'records run into each other' };
  return { line, fields, fault: isBroken ? `the record ends after ${fields.length} fields` : faultOf(bytes) };
}

function faultOf(bytes: Buffer): string | null {
  if (bytes.includes(0)) return 'the record contains NUL bytes, a sign of a damaged disk';
  if (isUtf8(bytes)) return null;
  // An accented Windows-1252 character is hardly ever followed by a continuation byte of UTF-8.
  const { whole, broken } = sequencesOf(bytes.toString('latin1'));
  return whole > broken ? 'the bytes are neither UTF-8 nor Windows-1252' : null;
}

/** Counts valid UTF-8 characters from U+00C0 on, and the other bytes beyond ASCII. */
function sequencesOf(latin1: string): { readonly whole: number; readonly broken: number } {
  let whole = 0;
  const rest = latin1.replaceAll(/[\xc3-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}/g, () => {
    whole += 1;
    return '';
  });
  return { whole, broken: rest.match(/[\x80-\xff]/g)?.length ?? 0 };
}

function cutOff({ number }: Line): SnapshotRefusedError {
  return new SnapshotRefusedError(`The file is cut off: its last line, ${number}, is incomplete.`);
}

/** Property types by the start of the word without accents (SeLoger's version 4.09). The position is the code. */
const PROPERTY_TYPES: readonly RegExp[] = [
  /^(?:appartement|loft|duplex|studio)s?\b/,
  /^(?:maison|villa|chateau|hotel particulier|chalet|ferme|manoir|mas|moulin|modele de maison)s?\b/,
  /^(?:immeuble|batiment)s?\b/,
  /^(?:parking|box|garage)s?\b/,
  /^bureaux?\b/,
  /^terrains?\b/,
  /^(?:boutique|local|locaux)s?\b/,
];

/** Words for another type of property, or an unknown one. */
const OTHER_TYPES = /^(?:inconnu|divers|autres?)$/;

function propertyTypeOf(word: string): number | null | undefined {
  const code = PROPERTY_TYPES.findIndex((pattern) => pattern.test(word));
  if (code !== -1) return code;
  return OTHER_TYPES.test(word) ? null : undefined;
}

/** The transfer of a lease, a business or an investment product is neither a sale nor a rental of the property. */
function transactionTypeOf(word: string): number | null | undefined {
  if (/fonds?[ -]de[ -]commerce|^cession|^produits? d.investissement/.test(word)) return null;
  if (/^(?:vente|viager)s?\b/.test(word)) return 0;
  return /^locations?\b/.test(word) ? 1 : undefined;
}

const fields = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from + 1 }, (_, at) => from + at);

/** Numbers of the photo fields, in the order of the photos. */
const PHOTO_FIELDS = [...fields(85, 93), ...fields(164, 174), ...fields(264, 273)];
