/** Converts a stored search to the answer for its client (specification, 2.1, 2.2). */

import type { City } from '../engine/domain/city.ts';
import type { Forms, StoredAlternative } from '../engine/domain/criterion-kinds.ts';
import { membersOf, plainCriteria } from '../engine/domain/criterion-table.ts';
import { emailStatusOf, type MailRules } from '../engine/domain/mail.ts';
import type { Search } from '../engine/domain/search.ts';
import type { Department } from '../engine/reference/commune-records.ts';
import type { Reference } from '../engine/reference/communes.ts';
import { articleOf, cleanName } from '../engine/reference/place-names.ts';
import type { SiteCategory } from '../engine/store/site-categories.ts';
import { identityOf } from './hydra.ts';

export interface Lookups {
  readonly reference: Pick<Reference, 'city' | 'department'>;
  readonly siteCategories: ReadonlyMap<number, SiteCategory>;
  readonly mailRules: MailRules;
}

export function searchIri(id: string): string {
  return `/searches/${id}`;
}

export function searchDocument(
  search: Search,
  { reference, siteCategories, mailRules }: Lookups,
): Record<string, unknown> {
  const { members, createdAt, updatedAt, lastAlertAt, seenAt, newSinceSeen, matchedLast7Days } = search;
  const { title, ...criteria } = members;
  return {
    ...identityOf('Search', searchIri(search.id)),
    title,
    token: search.token,
    user: `/users/${search.clientId}`,
    createdAt,
    updatedAt,
    lastAlertAt,
    seenAt,
    newSinceSeen,
    matchedLast7Days,
    emailStatus: emailStatusOf(search.mail, members, mailRules),
    emailFrequencyChosen: search.mail.frequencyChosen,
    ...shownCriteria(criteria, { reference, siteCategories }),
    alternatives: members.alternatives.map((one) => shownCriteria(one, { reference, siteCategories })),
  };
}

/** The code of `transactionType` becomes text; cities, departments and site categories become embedded references. */
function shownCriteria(
  stored: StoredAlternative,
  { reference, siteCategories }: Pick<Lookups, 'reference' | 'siteCategories'>,
): Readonly<Record<string, unknown>> {
  const embedded = <F extends 'cities' | 'departments' | 'siteCategories', Resource extends object>(
    form: F,
    find: (key: Forms[F][number]) => Resource | null | undefined,
    documentOf: (resource: Resource) => object,
  ) => {
    const names = membersOf(form).filter((name) => Object.hasOwn(stored, name));
    const found = (name: (typeof names)[number]) =>
      (stored[name] as Forms[F][number][]).map(find).filter((resource) => resource !== null && resource !== undefined);
    return names.map((name) => [name, found(name).map(documentOf)] as const);
  };
  const codes = plainCriteria('code').flatMap(({ name }) => {
    const code = stored[name];
    return typeof code === 'number' ? [[name, String(code)] as const] : [];
  });
  return {
    ...stored,
    ...Object.fromEntries([
      ...codes,
      ...embedded('cities', (insee) => reference.city(insee), embeddedCity),
      ...embedded('departments', (code) => reference.department(code), departmentDocument),
      ...embedded('siteCategories', (id) => siteCategories.get(id), siteCategoryDocument),
    ]),
  };
}

function embeddedCity(city: City): object {
  return { ...identityOf('City', `/cities/${city.id}`), ...cityReference(city) };
}

export function departmentDocument(department: Department): object {
  return {
    ...identityOf('Department', `/departments/${department.id}`),
    /** INSEE code of the prefecture, as in the official list. */
    chefLieu: department.chefLieu,
    departmentCode: department.code,
    name: department.name,
    /** In lower case, without accents, and hyphenated: `cote-d-or`. */
    nameClean: cleanName(department.name),
  };
}

export function siteCategoryDocument(category: SiteCategory): object {
  return {
    ...identityOf('SiteCategory', `/site_categories/${category.id}`),
    name: category.name,
  };
}

export function cityReference(city: City) {
  return {
    /** For example `Le` or `L'`; empty if the name has no article. */
    article: articleOf(city.originalName),
    insee: city.insee,
    /** The full official name. */
    libelle: city.originalName,
    name: city.name,
    zipcode: city.zipcode,
  };
}
