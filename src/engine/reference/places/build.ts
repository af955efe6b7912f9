/**
 * Creates `places.tsv.gz` in this folder from La Poste's list of zip codes (Licence Ouverte 2.0), `by-hand.tsv` and
 * `former-names.tsv`. Each line has the INSEE code of a present or merged commune, its centres, names of localities,
 * and former names. It also has zip codes that the npm package lacks. With `--check`, compares the file instead.
 * Without La Poste's list, does nothing.
 */

import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { readCommuneRecords } from '../commune-records.ts';
import { placeKey } from '../place-names.ts';

const SOURCE = new URL('../../../../../shared/data/reference/laposte_hexasmal_2022.csv.gz', import.meta.url);
const BY_HAND = new URL('by-hand.tsv', import.meta.url);
const FORMER_NAMES = new URL('former-names.tsv', import.meta.url);
const RESULT = new URL('places.tsv.gz', import.meta.url);
const ATTRIBUTION = '# La Poste, Base officielle des codes postaux (2022), Licence Ouverte 2.0; some centres by hand\n';
/** Centres are rounded to this many decimals of a degree, about ten metres. */
const DECIMALS = 4;
const SIZE_MAX_BYTES = 400_000;

interface Line {
  readonly centres: string[];
  readonly zipcodes: Set<string>;
  readonly localities: Set<string>;
  formerNames: string;
}

async function makeTable(): Promise<string> {
  const { communes, mergedInto } = await readCommuneRecords();
  const byInsee = new Map(communes.map((commune) => [commune.insee, commune]));
  // The package is newer, so a name that it lists for a zip code is already assigned to the right commune.
  const known = new Set(
    communes.flatMap(({ officialName, otherNames, zipcodes }) => {
      const keys = [officialName, ...otherNames].map(placeKey);
      return zipcodes.flatMap((zipcode) => keys.map((key) => `${zipcode} ${key}`));
    }),
  );
  const lines = new Map<string, Line>();
  for (const [, insee = '', centres = ''] of (await readFile(BY_HAND, 'utf8')).matchAll(/^(\d+)\t(.+)$/gm)) {
    lineOf(lines, insee).centres.push(...centres.split(','));
  }
  for (const [, insee = '', names = ''] of (await readFile(FORMER_NAMES, 'utf8')).matchAll(/^(\d+)\t(.+)$/gm)) {
    lineOf(lines, insee).formerNames = names;
  }
  const source = gunzipSync(await readFile(SOURCE))
    .toString('utf8')
    .trim()
    .split(/\r?\n/)
    .slice(1);
  for (const row of source) {
    const [code = '', name = '', zipcode = '', locality = '', , centre = ''] = row.split(';');
    const insee = byInsee.has(code) ? code : (mergedInto.get(code) ?? code);
    const commune = byInsee.get(insee);
    if (commune === undefined) continue;
    const line = lineOf(lines, code);
    if (centre !== '' && line.centres.length === 0) line.centres.push(rounded(centre));
    const ofToday = lineOf(lines, insee);
    if (!commune.zipcodes.includes(zipcode)) ofToday.zipcodes.add(zipcode);
    for (const other of [name, locality]) {
      if (other !== '' && !known.has(`${zipcode} ${placeKey(other)}`)) ofToday.localities.add(other);
    }
  }
  const written = [...lines].sort(([a], [b]) => (a < b ? -1 : 1)).map(([insee, line]) => textOf(insee, line));
  return `${ATTRIBUTION}${written.join('\n')}\n`;
}

function lineOf(lines: Map<string, Line>, insee: string): Line {
  const line = lines.get(insee) ?? { centres: [], zipcodes: new Set(), localities: new Set(), formerNames: '' };
  lines.set(insee, line);
  return line;
}

function rounded(centre: string): string {
  return centre
    .split(',')
    .map((degrees) => Number(degrees).toFixed(DECIMALS))
    .join(' ');
}

function textOf(insee: string, { centres, zipcodes, localities, formerNames }: Line): string {
  return [insee, centres.join(','), [...zipcodes].sort().join(','), [...localities].sort().join(','), formerNames]
    .join('\t')
    .trimEnd();
}

if (!existsSync(SOURCE)) {
  process.stdout.write(`places: skipped, ${fileURLToPath(SOURCE)} does not exist\n`);
} else if (process.argv.includes('--check')) {
  const stored = gunzipSync(await readFile(RESULT)).toString('utf8');
  if (stored !== (await makeTable())) throw new Error('places.tsv.gz is outdated: run npm run generate');
} else {
  const made = gzipSync(await makeTable(), { level: 9 });
  if (made.length > SIZE_MAX_BYTES)
    throw new Error(`places.tsv.gz has ${made.length} bytes, more than ${SIZE_MAX_BYTES}`);
  await writeFile(RESULT, made);
}
