/**
 * Reads the official list of communes, departments and regions (INSEE's Code officiel géographique, from the package
 * `@etalab/decoupage-administratif`) as small records. The package's main entry expects all its files in the working
 * directory, so this module reads the three relevant files itself.
 */

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import type { CodedPlace } from '../domain/city.ts';

/** A present commune, or an arrondissement of Paris, Lyon or Marseille. */
export interface CommuneRecord {
  readonly insee: string;
  /** Includes the article: `L'Abergement-Clémenciat`, `Paris 15e Arrondissement`. */
  readonly officialName: string;
  readonly departmentCode: string;
  /** In the order of the source; empty for five uninhabited territories. */
  readonly zipcodes: readonly string[];
  /** Number of inhabitants; 0 if unknown. */
  readonly population: number;
  /** INSEE code of the commune that an arrondissement belongs to. */
  readonly parentInsee: string | null;
  /** Former names, and names of localities in the commune. Adverts use these names. */
  readonly otherNames: readonly string[];
  /** The names in `otherNames` that are former names, or names of former (delegated or associated) communes. */
  readonly formerNames: readonly string[];
}

export interface Department extends CodedPlace {
  /** INSEE code of its prefecture. */
  readonly chefLieu: string;
  readonly region: CodedPlace;
}

export interface CommuneRecords {
  readonly communes: readonly CommuneRecord[];
  /** The INSEE code of the present commune, by the code of a commune that was merged into it. */
  readonly mergedInto: ReadonlyMap<string, string>;
  readonly departments: readonly Department[];
}

interface SourceCommune {
  readonly code: string;
  readonly nom: string;
  readonly type: 'commune-actuelle' | 'arrondissement-municipal' | 'commune-deleguee' | 'commune-associee';
  readonly departement: string;
  readonly commune?: string;
  readonly chefLieu?: string;
  /** Codes of communes that were merged into this commune, whether delegated or not. */
  readonly anciensCodes?: readonly string[];
  readonly codesPostaux?: readonly string[];
  readonly population?: number;
}

interface SourceArea {
  readonly code: string;
  readonly nom: string;
  readonly chefLieu: string;
  readonly region?: string;
}

/**
 * `added` contains zip codes and names that the package lacks. Throws if a file of the package is missing or not JSON,
 * because the installation is then broken.
 */
export async function readCommuneRecords(added: AddedToCommunes = NOTHING_ADDED): Promise<CommuneRecords> {
  const [communes, departments, regions] = await Promise.all([
    readJson<readonly SourceCommune[]>(import.meta.resolve('@etalab/decoupage-administratif/data/communes.json')),
    readJson<readonly SourceArea[]>(import.meta.resolve('@etalab/decoupage-administratif/data/departements.json')),
    readJson<readonly SourceArea[]>(import.meta.resolve('@etalab/decoupage-administratif/data/regions.json')),
  ]);
  return { ...joinCommunes(communes, added), departments: joinDepartments(departments, regions) };
}

async function readJson<T>(url: string): Promise<T> {
  return JSON.parse(await readFile(fileURLToPath(url), 'utf8')) as T;
}

const NONE: readonly string[] = [];
type AddedToCommunes = Omit<PlaceTable, 'centres'>;
const NOTHING_ADDED: AddedToCommunes = { zipcodes: new Map(), localities: new Map(), formerNames: new Map() };

function joinCommunes(
  source: readonly SourceCommune[],
  added: AddedToCommunes,
): Pick<CommuneRecords, 'communes' | 'mergedInto'> {
  const mergedInto = new Map<string, string>();
  const formerNames = new Map([...added.formerNames].map(([insee, names]) => [insee, [...names]]));
  for (const { type, code, nom, chefLieu } of source) {
    if (chefLieu === undefined || (type !== 'commune-deleguee' && type !== 'commune-associee')) continue;
    // The delegated commune with the new town hall kept its code, which is also the code of the new commune.
    if (code !== chefLieu) mergedInto.set(code, chefLieu);
    const names = formerNames.get(chefLieu);
    if (names === undefined) formerNames.set(chefLieu, [nom]);
    else names.push(nom);
  }
  const communes: CommuneRecord[] = [];
  for (const commune of source) {
    if (commune.type !== 'commune-actuelle' && commune.type !== 'arrondissement-municipal') continue;
    for (const code of commune.anciensCodes ?? NONE) if (!mergedInto.has(code)) mergedInto.set(code, commune.code);
    const localities = added.localities.get(commune.code) ?? NONE;
    const former = formerNames.get(commune.code) ?? NONE;
    communes.push({
      insee: commune.code,
      officialName: commune.nom,
      departmentCode: commune.departement,
      zipcodes: [...(commune.codesPostaux ?? NONE), ...(added.zipcodes.get(commune.code) ?? NONE)],
      population: commune.population ?? 0,
      parentInsee: commune.commune ?? null,
      otherNames: localities.length === 0 ? former : [...localities, ...former],
      formerNames: former,
    });
  }
  return { communes, mergedInto };
}

/** The source lists overseas collectivities both as departments and as regions, with the same code. */
function joinDepartments(departments: readonly SourceArea[], regions: readonly SourceArea[]): readonly Department[] {
  const regionOf = new Map(regions.map(({ code, nom }) => [code, { code, id: Number(code), name: nom }]));
  return departments.map(({ code, nom, chefLieu, region = code }) => ({
    code,
    id: departmentIdOf(code),
    name: nom,
    chefLieu,
    region: regionOf.get(region) ?? { code: region, id: Number(region), name: nom },
  }));
}

export interface Centre {
  readonly lat: number;
  readonly lon: number;
}

/** All maps are by INSEE code. */
interface PlaceTable {
  /** Centres of communes, including merged communes. The main centre is the first. */
  readonly centres: ReadonlyMap<string, readonly Centre[]>;
  readonly zipcodes: ReadonlyMap<string, readonly string[]>;
  readonly localities: ReadonlyMap<string, readonly string[]>;
  readonly formerNames: ReadonlyMap<string, readonly string[]>;
}

/**
 * Reads `places/places.tsv.gz`, the file that `places/build.ts` creates and describes. Throws if the file cannot be
 * read, because the installation is then broken.
 */
export async function readPlaceTable(): Promise<PlaceTable> {
  const text = gunzipSync(await readFile(new URL('places/places.tsv.gz', import.meta.url))).toString('utf8');
  const centres = new Map<string, readonly Centre[]>();
  const zipcodes = new Map<string, readonly string[]>();
  const localities = new Map<string, readonly string[]>();
  const formerNames = new Map<string, readonly string[]>();
  for (const line of text.split('\n')) {
    const [insee = '', points = '', codes = '', names = '', former = ''] = line.split('\t');
    if (points !== '') centres.set(insee, points.split(',').map(centreOf));
    if (codes !== '') zipcodes.set(insee, codes.split(','));
    if (names !== '') localities.set(insee, names.split(','));
    if (former !== '') formerNames.set(insee, former.split(','));
  }
  return { centres, zipcodes, localities, formerNames };
}

function centreOf(point: string): Centre {
  const [lat, lon] = point.split(' ');
  return { lat: Number(lat), lon: Number(lon) };
}

/**
 * The id of a commune. The API requires integers (specification, section 2.6), but Corsica's codes contain letters. The
 * id is the INSEE code as a number, except that Corsica's `2Axxx` is 120xxx and `2Bxxx` is 220xxx, both above every
 * other code. This mapping is fixed, so an id has the same meaning in every release and on every machine.
 */
export function cityIdOf(insee: string): number {
  if (insee.startsWith('2A')) return 120_000 + Number(insee.slice(2));
  if (insee.startsWith('2B')) return 220_000 + Number(insee.slice(2));
  return Number(insee);
}

/** The INSEE code for which `cityIdOf` returns `id`. There may be no such commune. */
export function inseeOf(id: number): string {
  if (id >= 220_000) return `2B${String(id - 220_000).padStart(3, '0')}`;
  if (id >= 120_000) return `2A${String(id - 120_000).padStart(3, '0')}`;
  return String(id).padStart(5, '0');
}

/** The department code as a number; `2A` is 201 and `2B` is 202, which no department has. */
export function departmentIdOf(code: string): number {
  if (code === '2A') return 201;
  if (code === '2B') return 202;
  return Number(code);
}
