/**
 * The R-tree: rbush, used as well as possible. Circles and polygons are grouped into blocks of neighbours, with one
 * rbush item per block; cities, departments and zip codes are keys of separate blocks. A block is a section of one
 * array with the box and the limits of every row, so that few candidates need their objects. Each expression is
 * compiled once and evaluated once per advert; texts are folded once, and only if needed.
 */

import RBush from 'rbush';
import { type Criteria, satisfies } from '../../src/engine/domain/criteria.ts';
import type { Range } from '../../src/engine/domain/criterion-kinds.ts';
import { ASKED_CRITERIA } from '../../src/engine/domain/criterion-table.ts';
import { isInCircle, isInPolygon } from '../../src/engine/domain/geo.ts';
import type { PropertyFacts } from '../../src/engine/domain/property-facts.ts';
import { excludesAdverts } from '../../src/engine/domain/site-category-criteria.ts';
import { type FoldedText, foldTexts } from '../../src/engine/domain/word-phrases.ts';
import { CompiledExpressions } from './plain-expressions.ts';

/** Layout of a row: box, kinds, position of the search, then minimum and maximum of six measures. */
const MIN_X = 0;
const MIN_Y = 1;
const MAX_X = 2;
const MAX_Y = 3;
const KINDS = 4;
const POSITION = 5;
const FIRST_BOUND = 6;
const ROW_NUMBERS = 18;
const BLOCK_ROWS = 64;

/** Layout of `KINDS`: bits of types, transactions and publishers, then flags for what remains to be checked. */
const ANY_TYPE = 0xff;
const UNKNOWN_TYPE = 0x80;
const TRANSACTIONS = 8;
const ANY_TRANSACTION = 7;
const PUBLISHERS = 12;
const ANY_PUBLISHER = 7;
const NEEDS_COHERENT_PRICE = 1 << 16;
const HAS_AREA = 1 << 17;
/** The search has rare criteria. */
const NEEDS_CHECK = 1 << 18;
const HAS_EXPRESSION = 1 << 19;

const KM_PER_DEGREE = 111.19;
const MEASURES = ['budget', 'surface', 'room', 'bedroom', 'pricePerMeter', 'landSurface'] as const;
const KINDS_OF_ROW = [
  'transactionType',
  'propertyTypes',
  'publisherTypes',
  'withCoherentPrice',
  'areas',
  'expressions',
];
const IN_ROW = new Set<string>([...MEASURES, ...KINDS_OF_ROW]);
const RARE = ASKED_CRITERIA.filter(({ name }) => !IN_ROW.has(name));

interface Box {
  readonly minX: number;
  readonly minY: number;
  readonly maxX: number;
  readonly maxY: number;
}

interface Block extends Box {
  readonly start: number;
  readonly end: number;
}

const EVERYWHERE: Box = { minX: -Infinity, minY: -Infinity, maxX: Infinity, maxY: Infinity };

interface DraftRow {
  readonly position: number;
  readonly box: Box;
}

/** The property, in the form that rows are compared with. */
interface Requested {
  readonly facts: PropertyFacts;
  readonly type: number;
  readonly transaction: number;
  readonly publishers: number;
  /** In the order of `MEASURES`; NaN if unknown. */
  readonly values: Float64Array;
}

export class PlainIndex {
  readonly #tree = new RBush<Block>();
  readonly #byPlace = new Map<string, Block>();
  readonly #searches: readonly Criteria[];
  readonly #expressions = new CompiledExpressions();
  readonly #expressionIds: Int32Array;
  #rows = new Float64Array(0);
  #rowCount = 0;
  #candidates = 0;

  /** The search at position 0 has number 1. */
  constructor(count: number, searchAt: (position: number) => Criteria) {
    this.#searches = Array.from({ length: count }, (_, position) => searchAt(position));
    this.#expressionIds = Int32Array.from(this.#searches, ({ expressions }) => this.#expressions.use(expressions));
    const areas: DraftRow[] = [];
    const places = new Map<string, DraftRow[]>();
    for (const [position, criteria] of this.#searches.entries()) {
      areas.push(...boxesOf(criteria).map((box) => ({ position, box })));
      for (const place of placesOf(criteria)) {
        const rows = places.get(place);
        if (rows === undefined) places.set(place, [{ position, box: EVERYWHERE }]);
        else rows.push({ position, box: EVERYWHERE });
      }
    }
    const placeRows = [...places.values()].reduce((sum, rows) => sum + rows.length, 0);
    this.#rows = new Float64Array((areas.length + placeRows) * ROW_NUMBERS);
    areas.sort((a, b) => neighbourhoodOf(a.box) - neighbourhoodOf(b.box));
    const blocks: Block[] = [];
    for (let at = 0; at < areas.length; at += BLOCK_ROWS) blocks.push(this.#write(areas.slice(at, at + BLOCK_ROWS)));
    this.#tree.load(blocks);
    for (const [place, rows] of places) this.#byPlace.set(place, this.#write(rows));
  }

  /** Number of rows tested by the last match. */
  get candidates(): number {
    return this.#candidates;
  }

  match(facts: PropertyFacts): number[] {
    this.#candidates = 0;
    if (facts.adverts.length === 0) return [];
    const found = new Set<number>();
    const asked = askedOf(facts);
    let folded: FoldedText | null = null;
    const holds = this.#expressions.reader(() => {
      folded ??= foldTexts([...facts.texts, ...facts.adverts.flatMap((advert) => advert.texts)]);
      return folded;
    });
    const { lat, lon } = facts;
    const places = [...facts.inseeCodes.map(cityKey), ...facts.zipcodes.map(zipcodeKey), ''];
    if (facts.departmentCode !== null) places.push(departmentKey(facts.departmentCode));
    for (const place of places) {
      const block = this.#byPlace.get(place);
      if (block !== undefined) this.#scan(block, asked, holds, found);
    }
    if (lat === null || lon === null) return [...found];
    const near = this.#tree.search({ minX: lon, minY: lat, maxX: lon, maxY: lat });
    for (const block of near) this.#scan(block, asked, holds, found);
    return [...found];
  }

  #scan({ start, end }: Block, asked: Requested, holds: (expression: number) => boolean, found: Set<number>): void {
    const rows = this.#rows;
    const { facts, values } = asked;
    const x = facts.lon ?? 0;
    const y = facts.lat ?? 0;
    this.#candidates += (end - start) / ROW_NUMBERS;
    rows: for (let row = start; row < end; row += ROW_NUMBERS) {
      const kinds = rows[row + KINDS] as number;
      if ((kinds & asked.type) === 0 || (kinds & asked.transaction) === 0 || (kinds & asked.publishers) === 0) continue;
      if (x < (rows[row + MIN_X] as number) || x > (rows[row + MAX_X] as number)) continue;
      if (y < (rows[row + MIN_Y] as number) || y > (rows[row + MAX_Y] as number)) continue;
      for (let measure = 0; measure < MEASURES.length; measure++) {
        const value = values[measure] as number;
        const min = rows[row + FIRST_BOUND + 2 * measure] as number;
        const max = rows[row + FIRST_BOUND + 2 * measure + 1] as number;
        // An unknown value is neither below nor above a limit: only a row without limits accepts it.
        if (!(value >= min && value <= max) && (min !== -Infinity || max !== Infinity)) continue rows;
      }
      if ((kinds & NEEDS_COHERENT_PRICE) !== 0 && !facts.isPriceCoherent) continue;
      const position = rows[row + POSITION] as number;
      if ((kinds & HAS_AREA) !== 0 && !isInArea(this.#searches[position] as Criteria, y, x)) continue;
      if ((kinds & HAS_EXPRESSION) !== 0 && !holds(this.#expressionIds[position] as number)) continue;
      if ((kinds & NEEDS_CHECK) !== 0 && !satisfies(this.#searches[position] as Criteria, facts)) continue;
      found.add(position + 1);
    }
  }

  #write(drafts: readonly DraftRow[]): Block {
    const start = this.#rowCount * ROW_NUMBERS;
    const block = { minX: Infinity, minY: Infinity, maxX: -Infinity, maxY: -Infinity };
    for (const { position, box } of drafts) {
      const criteria = this.#searches[position] as Criteria;
      const row = this.#rowCount++ * ROW_NUMBERS;
      this.#rows.set([box.minX, box.minY, box.maxX, box.maxY, kindsOf(criteria, box), position], row);
      this.#rows.set(
        MEASURES.flatMap((measure) => boundsOf(criteria[measure])),
        row + FIRST_BOUND,
      );
      block.minX = Math.min(block.minX, box.minX);
      block.minY = Math.min(block.minY, box.minY);
      block.maxX = Math.max(block.maxX, box.maxX);
      block.maxY = Math.max(block.maxY, box.maxY);
    }
    return { ...block, start, end: this.#rowCount * ROW_NUMBERS };
  }
}

function isInArea({ areas: { circle, polygons } }: Criteria, lat: number, lon: number): boolean {
  if (circle !== null && isInCircle(circle, lat, lon)) return true;
  return polygons.some((polygon) => isInPolygon(polygon, lat, lon));
}

function askedOf(facts: PropertyFacts): Requested {
  const { propertyType, transactionType, adverts } = facts;
  let publishers = 4 << PUBLISHERS;
  for (const { publisherType } of adverts) if (publisherType !== null) publishers |= 1 << (PUBLISHERS + publisherType);
  return {
    facts,
    type: propertyType === null ? UNKNOWN_TYPE : 1 << propertyType,
    transaction: 1 << (TRANSACTIONS + (transactionType ?? 2)),
    publishers,
    values: Float64Array.from(MEASURES, (m) => facts[m === 'budget' ? 'price' : m] ?? Number.NaN),
  };
}

function kindsOf(criteria: Criteria, box: Box): number {
  const { transactionType, propertyTypes, publisherTypes, withCoherentPrice, expressions } = criteria;
  const types = propertyTypes.reduce((set, type) => set | (1 << type), 0) || ANY_TYPE;
  const publishers = publisherTypes.reduce((set, type) => set | (1 << type), 0) || ANY_PUBLISHER;
  return (
    types |
    ((transactionType === null ? ANY_TRANSACTION : 1 << transactionType) << TRANSACTIONS) |
    (publishers << PUBLISHERS) |
    (withCoherentPrice ? NEEDS_COHERENT_PRICE : 0) |
    (box === EVERYWHERE ? 0 : HAS_AREA) |
    (RARE.some((row) => row.isSet(criteria)) ? NEEDS_CHECK : 0) |
    (expressions.length > 0 && !excludesAdverts(criteria) ? HAS_EXPRESSION : 0)
  );
}

function boundsOf({ min, max }: Range): readonly number[] {
  return [min ?? -Infinity, max ?? Infinity];
}

function placesOf({ areas }: Criteria): readonly string[] {
  const { circle, inseeCodes, departmentCodes, zipcodes, polygons } = areas;
  const places = [...inseeCodes.map(cityKey), ...departmentCodes.map(departmentKey), ...zipcodes.map(zipcodeKey)];
  return places.length === 0 && circle === null && polygons.length === 0 ? [''] : places;
}

const cityKey = (code: string): string => `city ${code}`;
const departmentKey = (code: string): string => `department ${code}`;
const zipcodeKey = (code: string): string => `zip code ${code}`;

function boxesOf({ areas: { circle, polygons } }: Criteria): Box[] {
  const boxes: Box[] = [];
  if (circle !== null) {
    const north = circle.radiusKm / KM_PER_DEGREE;
    const east = north / Math.cos(((Math.abs(circle.lat) + north) * Math.PI) / 180);
    const { lat, lon } = circle;
    boxes.push({ minX: lon - east, minY: lat - north, maxX: lon + east, maxY: lat + north });
  }
  for (const polygon of polygons) {
    const box = { minX: Infinity, minY: Infinity, maxX: -Infinity, maxY: -Infinity };
    for (const [lon, lat] of polygon.flat()) {
      box.minX = Math.min(box.minX, lon);
      box.maxX = Math.max(box.maxX, lon);
      box.minY = Math.min(box.minY, lat);
      box.maxY = Math.max(box.maxY, lat);
    }
    boxes.push(box);
  }
  return boxes;
}

/** Sorts areas of about one size together, then along a Z-order curve (G. M. Morton, 1966). */
function neighbourhoodOf({ minX, minY, maxX, maxY }: Box): number {
  const size = Math.round(2 * Math.log2(maxY - minY + 1e-9)) + 100;
  const x = Math.round(((minX + maxX) / 2 + 180) * 180);
  const y = Math.round(((minY + maxY) / 2 + 90) * 360);
  let curve = 0;
  for (let bit = 16; bit >= 0; bit--) curve = 4 * curve + 2 * ((y >> bit) & 1) + ((x >> bit) & 1);
  return size * 2 ** 36 + curve;
}
