/**
 * From the body of a request to the members of a search, or to the list of everything that is wrong with it. Each
 * member is checked on its own, so that one bad member hides no other; what spans members is checked on the result,
 * so that a partial update cannot bring about what a creation would refuse.
 */

import { SEARCH_DEFAULTS, type SearchMembers } from '../domain/search.ts';
import type { Reference } from '../reference/communes.ts';
import { type EndpointRules, endpointFault } from './endpoint-url.ts';
import { nearestName } from './nearest-name.ts';
import { type Violation, violationsProblem } from './problem.ts';
import { READ_ONLY_MEMBERS, SEARCH_MEMBERS, type SearchInput, type SearchMemberName } from './search-schema.ts';
import { findUnstorable } from './storable.ts';

export interface InputRules extends EndpointRules {
  readonly reference: Pick<Reference, 'city' | 'cityById' | 'departmentById'>;
  /** Ids of the site categories there are; asked only when the body names some. */
  readonly siteCategoryIds: () => Promise<ReadonlySet<number>>;
}

/** The members of a new search. Throws a 422 `Problem`. */
export async function readNewSearch(body: unknown, rules: InputRules): Promise<SearchMembers> {
  const violations: Violation[] = [];
  const changes = await readChanges(body, rules, violations);
  if (isRecord(body) && !Object.hasOwn(body, 'title')) {
    violations.push({ propertyPath: 'title', message: 'is required', code: 'required' });
  }
  return finish({ title: '', ...SEARCH_DEFAULTS, ...changes }, violations);
}

/**
 * The members that `body` states, changed, and the others kept: PUT and PATCH alike (decisions, section 2). The look-
 * ups are done at once, the merge when the row is locked. Throws a 422 `Problem`, and so does the merge.
 */
export async function readSearchChange(
  body: unknown,
  rules: InputRules,
): Promise<{ readonly changes: Partial<SearchMembers>; readonly merge: (present: SearchMembers) => SearchMembers }> {
  const violations: Violation[] = [];
  const changes = await readChanges(body, rules, violations);
  if (violations.length > 0) throw violationsProblem(violations);
  return { changes, merge: (present) => finish({ ...present, ...changes }, []) };
}

function finish(members: SearchMembers, violations: Violation[]): SearchMembers {
  const all = [...violations, ...memberConflicts(members)];
  if (all.length > 0) throw violationsProblem(all);
  return members;
}

async function readChanges(body: unknown, rules: InputRules, violations: Violation[]): Promise<Partial<SearchMembers>> {
  if (!isRecord(body)) {
    throw violationsProblem([{ propertyPath: '', message: 'the body must be a JSON object', code: 'invalid_type' }]);
  }
  violations.push(...findUnstorable(body));
  if (violations.length > 0) throw violationsProblem(violations);
  const input: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(body)) {
    if (READ_ONLY_MEMBERS.includes(name)) continue;
    if (!isMemberName(name)) violations.push(unknownMember(name));
    else readMember(name, value, input, violations);
  }
  return resolve(input, rules, violations);
}

function readMember(
  name: SearchMemberName,
  value: unknown,
  input: Record<string, unknown>,
  violations: Violation[],
): void {
  const result = SEARCH_MEMBERS[name].safeParse(value);
  if (result.success) input[name] = result.data;
  else {
    for (const issue of result.error.issues) {
      violations.push({ propertyPath: pathOf([name, ...issue.path]), message: issue.message, code: issue.code });
    }
  }
}

function unknownMember(name: string): Violation {
  const nearest = nearestName(name, Object.keys(SEARCH_MEMBERS));
  const message = `is no member of a search; the nearest one is ${nearest}`;
  return { propertyPath: name, message, code: 'unknown_member' };
}

/** Ids become keys; what leads nowhere is a violation. */
async function resolve(
  input: SearchInput,
  rules: InputRules,
  violations: Violation[],
): Promise<Partial<SearchMembers>> {
  const { includedCities, excludedCities, includedDepartments, ...rest } = input;
  const refuse = (propertyPath: string, message: string, code: string): void => {
    violations.push({ propertyPath, message, code });
  };
  const keysOf = <Key>(name: string, ids: readonly number[], keyOf: (id: number) => Key | undefined): Key[] =>
    [...ids.entries()].flatMap(([index, id]) => {
      const key = keyOf(id);
      if (key === undefined) refuse(`${name}[${index}]`, 'refers to nothing', 'unknown_reference');
      return key ?? [];
    });
  const inseeOf = (id: number) => rules.reference.cityById(id)?.insee;
  const codeOf = (id: number) => rules.reference.departmentById(id)?.code;
  for (const name of ['endpointRecipient', 'eventEndpoint'] as const) {
    const url = input[name];
    const fault = url ? endpointFault(url, rules) : url === '' ? 'must be an absolute URL' : null;
    if (fault !== null) refuse(name, fault, 'invalid_endpoint');
  }
  for (const [index, insee] of (input.includedInseeCodes ?? []).entries()) {
    if (rules.reference.city(insee) === null) {
      refuse(`includedInseeCodes[${index}]`, 'is the code of no commune', 'unknown_reference');
    }
  }
  const categories = ['includedSiteCategories', 'excludedSiteCategories'] as const;
  if (categories.some((name) => (input[name] ?? []).length > 0)) {
    const known = await rules.siteCategoryIds();
    for (const name of categories) keysOf(name, input[name] ?? [], (id) => (known.has(id) ? id : undefined));
  }
  return {
    ...rest,
    ...(includedCities && { includedCities: keysOf('includedCities', includedCities, inseeOf) }),
    ...(excludedCities && { excludedCities: keysOf('excludedCities', excludedCities, inseeOf) }),
    ...(includedDepartments && { includedDepartments: keysOf('includedDepartments', includedDepartments, codeOf) }),
  };
}

const RANGES = ['budget', 'advertPrice', 'pricePerMeter', 'surface', 'landSurface', 'room', 'bedroom'] as const;

/** What cannot work together. A maximum of 0 is no bound. */
function memberConflicts(members: SearchMembers): Violation[] {
  const conflicts = RANGES.flatMap((range): Violation[] => {
    const [min, max] = [members[`${range}Min`], members[`${range}Max`]];
    if (min === null || max === null || max === 0 || min <= max) return [];
    const message = `must not be above ${range}Max, which is ${max}`;
    return [{ propertyPath: `${range}Min`, message, code: 'min_above_max' }];
  });
  const circle = ['lat', 'lon', 'radius'] as const;
  const missing = circle.filter((name) => members[name] === null);
  if (missing.length === 0 || missing.length === circle.length) return conflicts;
  return [
    ...conflicts,
    ...missing.map((propertyPath) => {
      return { propertyPath, message: 'lat, lon and radius come together', code: 'incomplete_circle' };
    }),
  ];
}

function pathOf(path: readonly PropertyKey[]): string {
  const steps = path.map((step, depth) =>
    typeof step === 'number' ? `[${step}]` : `${depth ? '.' : ''}${String(step)}`,
  );
  return steps.join('');
}

function isMemberName(name: string): name is SearchMemberName {
  return Object.hasOwn(SEARCH_MEMBERS, name);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
