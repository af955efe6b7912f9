/** The reference resolves the places of INSEE's list of 2024 (COG), which the project does not ship. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { before, describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import type { StatedPlace } from '../src/engine/domain/city.ts';
import { readCommuneOutlines } from '../src/engine/reference/commune-outlines.ts';
import { readCommuneRecords, readPlaceTable } from '../src/engine/reference/commune-records.ts';
import { loadReference, type Reference } from '../src/engine/reference/communes.ts';
import { placeKey } from '../src/engine/reference/place-names.ts';
import { SHARED_DATA } from './support/checkout.ts';

const FILE = new URL('reference/communes_fr_cog2024.csv.gz', SHARED_DATA);
const skip = existsSync(FILE) ? false : 'the COG 2024 file is not there';
const NOWHERE: StatedPlace = { insee: null, zipcode: null, name: null, lat: null, lon: null };

interface Row {
  readonly insee_com: string;
  readonly commune_article: string;
  readonly code_postal: string;
  /** `COM`: a commune; `ARM`: an arrondissement; `COMD`: a delegated commune, whose `insee_com` is its own code. */
  readonly commune_type: 'COM' | 'ARM' | 'COMD';
  readonly insee_parente: string;
  readonly lat: string;
  readonly lng: string;
}

describe('communes of the COG 2024 file', { skip }, () => {
  let reference: Reference;
  let rows: readonly Row[];

  before(async () => {
    reference = await loadReference();
    rows = parse<Row>(gunzipSync(await readFile(FILE)), { columns: true });
  });

  const inseeOf = (place: Partial<StatedPlace>) =>
    reference.resolvePlace({ ...NOWHERE, ...place })?.city?.insee ?? null;
  const todayOf = ({ insee_com }: Row) => reference.city(insee_com)?.insee;

  it('all have a code that resolves to a current commune', () => {
    const lost = rows.filter((row) => todayOf(row) === undefined || inseeOf({ insee: row.insee_com }) !== todayOf(row));
    assert.deepEqual(lost, []);
  });

  it('are found by their coordinates alone, except at most 2 %, of which at most five are inside the outline', async (t) => {
    const outlines = await readCommuneOutlines();
    const located = rows.filter(({ commune_type, lat }) => commune_type !== 'COMD' && lat !== '');
    const wrong = located.filter((row) => inseeOf({ lat: Number(row.lat), lon: Number(row.lng) }) !== todayOf(row));
    // The file has the centre of each commune, which may lie outside a commune with a concave shape.
    const inside = wrong.filter(
      (row) => outlines.distanceKm(String(todayOf(row)), Number(row.lat), Number(row.lng)) === 0,
    );
    t.diagnostic(`${wrong.length} of ${located.length} elsewhere, ${inside.length} of them inside their outline`);
    assert.ok(wrong.length <= located.length * 0.02, String(wrong.length));
    // Where a commune was split after 2018, centres decide.
    assert.ok(inside.length <= 5, String(inside.length));
  });

  it('are found by zip code and name', () => {
    const wrong = rows.filter(
      (row) => inseeOf({ zipcode: row.code_postal, name: row.commune_article }) !== todayOf(row),
    );
    assert.deepEqual(wrong, []);
  });

  it('are found by their name alone if no other commune has it', async () => {
    const holders = new Map<string, Set<string>>();
    const names = rows.map((row) => [row.commune_article, todayOf(row)] as const);
    const { communes } = await readCommuneRecords(await readPlaceTable());
    const known = communes.flatMap(({ insee, officialName, otherNames }) =>
      [officialName, ...otherNames].map((name) => [name, insee] as const),
    );
    for (const [name, insee] of [...names, ...known]) {
      const key = placeKey(name);
      holders.set(key, (holders.get(key) ?? new Set()).add(String(insee)));
    }
    const unique = rows.filter((row) => holders.get(placeKey(row.commune_article))?.size === 1);
    assert.ok(unique.length > 30_000, String(unique.length));
    const wrong = unique.filter((row) => inseeOf({ name: row.commune_article }) !== todayOf(row));
    assert.deepEqual(wrong, []);
  });
});
