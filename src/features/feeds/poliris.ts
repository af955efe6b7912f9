/** Poliris 4, the format of nearly all French portals: a record's fields as the members of the intake contract. */

import { type FeedRow, referenceFault } from './feed-row.ts';
import { numberIn, plainLine, plainText, webAddress } from './plain-text.ts';
import { type PolirisRecord, polirisRecords } from './poliris-records.ts';
import { FEATURES, PHOTO_FIELDS, PROPERTY_TYPES, transactionTypeOf } from './poliris-words.ts';

/** `source`: whose name stands for a publisher that gives none. */
export async function* readPoliris(bytes: AsyncIterable<Buffer>, source: string): AsyncGenerator<FeedRow> {
  for await (const record of polirisRecords(bytes)) yield rowOf(record, source);
}

function rowOf({ line, fields, fault }: PolirisRecord, source: string): FeedRow {
  const record = createReader(fields);
  const [agency, own] = [record.line(1), record.line(2)];
  const reference = agency === '' ? own : `${agency}/${own}`;
  // The last field of a record that is not whole may be a part of one.
  const isNamed = fields.length > 2 && referenceFault(reference) === null;
  if (fault !== null) return { kind: 'complaint', line, reference: isNamed ? reference : null, reason: fault };
  const nameless = referenceFault(own) ?? referenceFault(reference);
  if (nameless !== null) return { kind: 'complaint', line, reference: null, reason: nameless };
  const content = { property: propertyOf(record), advert: advertOf(record, source) };
  return { kind: 'advert', line, reference, content, notices: record.notices };
}

type Reader = ReturnType<typeof createReader>;

/** By the numbers of the format, from 1. What a field may not hold is told, and unknown. */
function createReader(fields: readonly string[]) {
  const notices: string[] = [];
  const raw = (field: number): string => fields[field - 1]?.trim() ?? '';
  const number = (field: number, member: string): number | null => {
    const written = raw(field);
    const value = written === '' ? null : numberIn(written);
    if (written !== '' && value === null)
      notices.push(`${member}: ${JSON.stringify(written.slice(0, 40))} is no number`);
    return value;
  };
  return {
    notices,
    raw,
    line: (field: number) => plainLine(raw(field)),
    text: (field: number) => plainText(raw(field)),
    word: (field: number) => folded(raw(field)),
    number,
    /** Programs write 0 for what nobody has filled in. */
    amount: (field: number, member: string) => number(field, member) || null,
    flag(field: number): boolean | null {
      const word = folded(raw(field));
      if (word === 'oui') return true;
      return word === 'non' ? false : null;
    },
    has: (field: number) => /^(?:oui|[1-9]\d*)$/i.test(raw(field)),
    address: (field: number) => webAddress(raw(field)),
  };
}

function folded(word: string): string {
  return word.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
}

function propertyOf(record: Reader) {
  const [lat, lon] = [record.amount(298, 'lat'), record.amount(299, 'lon')];
  return {
    transactionType: transactionTypeOf(record.word(3)),
    propertyType: PROPERTY_TYPES.get(record.word(4)) ?? null,
    room: record.amount(18, 'room'),
    bedroom: record.amount(19, 'bedroom'),
    // One of them that is 0 was not filled in, and the other means nothing.
    locations: lat === null || lon === null ? null : { lat, lon },
    city: { zipcode: record.line(108) || record.line(5), name: record.line(109) || record.line(6) },
  };
}

function advertOf(record: Reader, source: string) {
  const name = record.line(106);
  return {
    title: record.line(20),
    description: record.text(21),
    virtualTour: record.address(104),
    contact: { email: record.line(107), name, phone: record.line(105), reference: record.line(2) },
    publisher: { category: 'Agence', name: name || source, type: 1 },
    features: [...FEATURES].filter(([field]) => record.has(field)).map(([, feature]) => feature),
    energy: ratingOf(record, 176, 'energy'),
    greenHouseGas: ratingOf(record, 178, 'greenHouseGas'),
    constructionYear: record.amount(27, 'constructionYear'),
    floorQuantity: record.amount(25, 'floorQuantity'),
    floor: floorOf(record),
    lotCount: record.amount(259, 'lotCount'),
    ...moneyOf(record),
    surface: record.amount(16, 'surface'),
    landSurface: record.amount(17, 'landSurface'),
    elevator: record.flag(41),
    furnished: record.flag(26),
    pictures: PHOTO_FIELDS.map(record.address).filter((address) => address !== null),
  };
}

function moneyOf(record: Reader) {
  const isRent = transactionTypeOf(record.word(3)) === 1;
  return {
    // Of a rent with its charges where field 13 says so, of one without VAT where 14 or 245 does.
    price: record.amount(11, 'price'),
    priceExcludingFees: record.amount(303, 'priceExcludingFees'),
    feesPercentage: record.amount(257, 'feesPercentage'),
    feesResponsibility: RESPONSIBLE.get(record.raw(302)),
    rentalCharges: isRent ? record.amount(23, 'rentalCharges') : null,
    condominiumFees: isRent ? null : record.amount(260, 'condominiumFees'),
    rentalPledge: record.amount(161, 'rentalPledge'),
  };
}

/** Field 302 as the contract's code: 1 the buyer, 2 the seller. */
const RESPONSIBLE: ReadonlyMap<string, number> = new Map([
  ['1', 1],
  ['2', 0],
]);

/** `NS`, `VI` and the like say that there is none. A consumption of 0 is none; emissions of 0 are, where they are rated. */
function ratingOf(record: Reader, field: number, member: string) {
  const letter = record.raw(field + 1).toUpperCase();
  const category = /^[A-G]$/.test(letter) ? letter : null;
  const value = record.number(field, `${member}.value`);
  return { category, value: value === 0 && (member === 'energy' || category === null) ? null : value };
}

/** 0 is the ground floor, which some write out. */
function floorOf(record: Reader): number | null {
  return /^(?:rdc|rez)/.test(record.word(24)) ? 0 : record.number(24, 'floor');
}
