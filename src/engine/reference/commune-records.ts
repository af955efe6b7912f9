/**
 * The official list of communes, departments and regions (INSEE's Code officiel géographique, as the package
 * `@etalab/decoupage-administratif` ships it) as small records. Its main entry cannot be imported and would parse every
 * file; this module reads the three relevant files directly.
 */

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { CodedPlace } from '../domain/city.ts';
import type { PlaceTable } from './place-table.ts';
import { departmentIdOf } from './reference-ids.ts';

/** A commune of today, or an arrondissement of Paris, Lyon or Marseille. */
export interface CommuneRecord {
  readonly insee: string;
  /** With its article: `L'Abergement-Clémenciat`, `Paris 15e Arrondissement`. */
  readonly officialName: string;
  readonly departmentCode: string;
  /** In the order of the source; empty for five uninhabited territories. */
  readonly zipcodes: readonly string[];
  /** Inhabitants; 0 when unknown. */
  readonly population: number;
  /** INSEE code of the commune that an arrondissement belongs to. */
  readonly parentInsee: string | null;
  /** Names of delegated and associated communes and of localities inside it, which adverts use. */
  readonly otherNames: readonly string[];
}

export interface Department {
  readonly code: string;
  readonly id: number;
  readonly name: string;
  /** INSEE code of its prefecture. */
  readonly chefLieu: string;
  readonly region: CodedPlace;
}

export interface CommuneRecords {
  readonly communes: readonly CommuneRecord[];
  /** INSEE code of a commune that was merged away, to the code of the commune it is part of now. */
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
  /** Codes of communes that were merged into it, delegated or not. */
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
 * `added`: zip codes and names that the package lacks.
 * Throws when a file of the package is missing or no JSON: the installation is broken.
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
type AddedToCommunes = Pick<PlaceTable, 'zipcodes' | 'localities'>;
const NOTHING_ADDED: AddedToCommunes = { zipcodes: new Map(), localities: new Map() };

function joinCommunes(
  source: readonly SourceCommune[],
  { zipcodes, localities }: AddedToCommunes,
): Pick<CommuneRecords, 'communes' | 'mergedInto'> {
  const mergedInto = new Map<string, string>();
  const otherNames = new Map([...localities].map(([insee, names]) => [insee, [...names]]));
  for (const { type, code, nom, chefLieu } of source) {
    if (chefLieu === undefined || (type !== 'commune-deleguee' && type !== 'commune-associee')) continue;
    // The delegated commune round the new town hall kept its code, and the new commune bears it too.
    if (code !== chefLieu) mergedInto.set(code, chefLieu);
    const names = otherNames.get(chefLieu);
    if (names === undefined) otherNames.set(chefLieu, [nom]);
    else names.push(nom);
  }
  const communes: CommuneRecord[] = [];
  for (const commune of source) {
    if (commune.type !== 'commune-actuelle' && commune.type !== 'arrondissement-municipal') continue;
    for (const code of commune.anciensCodes ?? NONE) if (!mergedInto.has(code)) mergedInto.set(code, commune.code);
    const added = zipcodes.get(commune.code) ?? NONE;
    communes.push({
      insee: commune.code,
      officialName: commune.nom,
      departmentCode: commune.departement,
      zipcodes: [...(commune.codesPostaux ?? NONE), ...added],
      population: commune.population ?? 0,
      parentInsee: commune.commune ?? null,
      otherNames: otherNames.get(commune.code) ?? NONE,
    });
  }
  return { communes, mergedInto };
}

/** Overseas collectivities stand in the lists as departments and as regions with the same code. */
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
