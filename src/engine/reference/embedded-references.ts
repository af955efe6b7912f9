/** Communes and departments as a search embeds them (specification, section 2.2), JSON-LD keywords aside. */

import type { City } from '../domain/city.ts';
import type { Department } from './commune-records.ts';
import { articleOf, cleanName } from './place-names.ts';

export interface CityReference {
  /** `Le`, `La`, `Les`, `L'` or empty. */
  readonly article: string;
  readonly insee: string;
  /** The official name in full. */
  readonly libelle: string;
  readonly name: string;
  readonly zipcode: string;
}

export function cityReference(city: City): CityReference {
  return {
    article: articleOf(city.originalName),
    insee: city.insee,
    libelle: city.originalName,
    name: city.name,
    zipcode: city.zipcode,
  };
}

export interface DepartmentReference {
  /** INSEE code of the prefecture, as the official list has it. */
  readonly chefLieu: string;
  readonly departmentCode: string;
  readonly name: string;
  /** Lower case, no accents, hyphens: `cote-d-or`. */
  readonly nameClean: string;
}

export function departmentReference(department: Department): DepartmentReference {
  return {
    chefLieu: department.chefLieu,
    departmentCode: department.code,
    name: department.name,
    nameClean: cleanName(department.name),
  };
}
