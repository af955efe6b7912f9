/**
 * Two snapshots of adverts in Toulon as intake messages. Text and coordinates, which the first snapshot lacks, are
 * taken from the second. Therefore only price and surface can differ between the two messages of an advert.
 *
 * A range such as `[222000, 276000]` is the price of a programme with several lots. It is replaced by the value of the
 * first snapshot, or by its lower end if there is none. A publication date in 1970 means unknown.
 */

import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { SHARED_DATA } from './checkout.ts';

const FOLDER = new URL('adverts/', SHARED_DATA);

/** False if the data is not installed. */
export const HAS_TOULON = existsSync(fileURLToPath(new URL('toulon_bienici_2026-03-10.csv.gz', FOLDER)));

export interface ToulonChange {
  readonly id: string;
  readonly field: 'price' | 'surface';
  readonly old: number;
  readonly new: number;
  readonly percent: number;
}

export interface ToulonMessage {
  readonly kind: 'upsert';
  readonly crawledAt: string;
  readonly property: {
    readonly uuid: string;
    readonly transactionType: number;
    readonly propertyType: number;
    readonly room: number | null;
    readonly city: { readonly insee: string };
    readonly locations: { readonly lat: number; readonly lon: number } | null;
  };
  readonly advert: {
    readonly uuid: string;
    readonly title: string;
    readonly description: string | null;
    readonly price: number | null;
    readonly surface: number | null;
    readonly createdAt: string | null;
    readonly publisher: { readonly type: number };
    readonly energy: { readonly category: string } | null;
    readonly floor: number | null;
    readonly floorQuantity: number | null;
    readonly elevator: boolean | null;
  };
}

type Row = Readonly<Record<string, string>>;

export interface Toulon {
  readonly first: readonly ToulonMessage[];
  readonly second: readonly ToulonMessage[];
  readonly changes: readonly ToulonChange[];
}

export function readToulon(): Toulon {
  const march6 = readRows('toulon_bienici_2026-03-06.csv.gz');
  const march10 = readRows('toulon_bienici_2026-03-10.csv.gz');
  const before = new Map(march6.map((row) => [row.id, row]));
  const after = new Map(march10.map((row) => [row.id, row]));
  return {
    first: march6.map((row) => messageOf('2026-03-06T17:17:16+01:00', row, after.get(row.id), row)),
    second: march10.map((row) => messageOf('2026-03-10T10:59:32+01:00', row, row, before.get(row.id))),
    changes: JSON.parse(read('toulon_changes_2026-03-06_to_10.json.gz')).changed,
  };
}

/** UUID of an advert or its property, from the portal's id. */
export function uuidOf(kind: 'advert' | 'property', id: string): string {
  const hex = createHash('sha256').update(`${kind}/${id}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

function messageOf(crawledAt: string, row: Row, full: Row | undefined, former: Row | undefined): ToulonMessage {
  const id = row.id as string;
  const number = (name: string, formerName: string): number | null =>
    numberOf(row[name] ?? row[formerName], former?.[formerName]);
  const published = full?.publication_date ?? '';
  const isHouse = former?.type_bien === 'maison' || (former === undefined && full?.property_type === 'house');
  return {
    kind: 'upsert',
    crawledAt,
    property: {
      uuid: uuidOf('property', id),
      transactionType: 0,
      propertyType: isHouse ? 1 : 0,
      room: number('rooms', 'nb_pieces'),
      city: { insee: '83137' },
      locations: full?.latitude_blur ? { lat: Number(full.latitude_blur), lon: Number(full.longitude_blur) } : null,
    },
    advert: {
      uuid: uuidOf('advert', id),
      title: full?.title ?? (row.titre as string),
      description: full?.description ?? null,
      price: number('price', 'prix'),
      surface: number('surface_m2', 'surface'),
      createdAt: published === '' || published.startsWith('1970') ? null : published,
      publisher: { type: 1 },
      energy: /^[A-G]$/.test(full?.energy_class ?? '') ? { category: full?.energy_class as string } : null,
      floor: numberOf(full?.floor, undefined),
      floorQuantity: numberOf(full?.floor_quantity, undefined),
      elevator: full === undefined ? null : full.has_elevator === '1',
    },
  };
}

function numberOf(value: string | undefined, former: string | undefined): number | null {
  if (value === undefined || value === '') return null;
  if (!value.startsWith('[')) return Number(value);
  return Number(former ?? value.slice(1).split(',')[0]);
}

function readRows(name: string): Row[] {
  return parse(read(name), { columns: true });
}

function read(name: string): string {
  return gunzipSync(readFileSync(new URL(name, FOLDER))).toString('utf8');
}
