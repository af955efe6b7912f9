/**
 * Converts the body of a request to the members of a search, or to a list of its errors. Each member is validated
 * separately, so that one invalid member does not hide another. Rules across members are checked on the result of a
 * change, because the change may contain only one of the members.
 */

import { isDeepStrictEqual } from 'node:util';
import { hostFault } from '../engine/delivery/connector.ts';
import { ALTERNATIVE_CRITERIA, alternativesOf } from '../engine/domain/alternatives.ts';
import { PLACES_OF_ALTERNATIVE_MAX } from '../engine/domain/alternatives-criterion.ts';
import { placeCount } from '../engine/domain/areas.ts';
import type { StoredAlternative } from '../engine/domain/criterion-kinds.ts';
import {
  ASKED_CRITERIA,
  type CriterionMembers,
  membersOf,
  plainCriteria,
  requestedRange,
} from '../engine/domain/criterion-table.ts';
import { impliedFeature } from '../engine/domain/features.ts';
import { publisherKey } from '../engine/domain/publisher-criteria.ts';
import { criteriaOf, SEARCH_DEFAULTS, type SearchMembers } from '../engine/domain/search.ts';
import type { Reference } from '../engine/reference/communes.ts';
import type { EndpointRules } from './dependencies.ts';
import { isIgnored, isRecord, REFUSED } from './member-rules.ts';
import { invalid, type Path, Violations } from './problem.ts';
import { SEARCH_MEMBERS, type SearchInput, type SearchMemberName } from './search-schema.ts';
import { FAULTS, KINDS_OF_MEMBER, type Sentence } from './sentences.ts';

export interface InputRules extends EndpointRules {
  readonly reference: Pick<Reference, 'city' | 'cityById' | 'departmentById' | 'isZipcode'>;
  /** The URL of this service that the client uses. */
  readonly baseUrl: string;
  /** Ids of the existing site categories. Called only when the body names some. */
  readonly siteCategoryIds: () => Promise<ReadonlySet<number>>;
}

/** A search to change, in its stored form and as answers show it. */
export interface PresentSearch {
  readonly members: SearchMembers;
  readonly document: Readonly<Record<string, unknown>>;
}

/** The members of a new search, or of the search of a preview, which needs no title. Throws a 422 `Problem`. */
export async function readNewSearch(body: unknown, rules: InputRules, needsTitle = true): Promise<SearchMembers> {
  const violations = new Violations();
  const changes = await readChanges(body, null, rules, violations);
  if (needsTitle && !Object.hasOwn(body as object, 'title')) violations.add(['title'], FAULTS.required, 'required');
  return finish({ title: '', ...SEARCH_DEFAULTS, ...changes }, changes, violations);
}

/**
 * Changes the members that `body` states and keeps the others (decisions, section 2). PUT replaces a stated member; a
 * patch merges objects. The value of a member that is sent back unchanged is not validated again. The function looks up
 * references; `merge` is called when the row is locked. Both throw a 422 `Problem`.
 */
export async function readSearchChange(
  body: unknown,
  { isPatch, ...present }: PresentSearch & { readonly isPatch: boolean },
  rules: InputRules,
): Promise<{ readonly merge: (present: SearchMembers) => SearchMembers }> {
  const violations = new Violations();
  const patch = isPatch && isRecord(body) ? body : {};
  const sent = isRecord(body) ? { ...body, ...patchedObjects(present.members, patch) } : body;
  const changes = await readChanges(sent, present, rules, violations);
  violations.throwAny();
  return {
    merge(latest) {
      const late = new Violations();
      // Objects that another request has changed since `present` was read are merged again.
      const changedSince = Object.entries(patchedObjects(latest, patch)).filter(
        ([name]) => !isDeepStrictEqual(latest[name as ObjectMember], present.members[name as ObjectMember]),
      );
      const again: Record<string, unknown> = { ...changes };
      for (const [name, value] of changedSince) readMember(name as ObjectMember, value, again, rules, late);
      return finish(merged(latest, again), again, late, latest);
    },
  };
}

/** The members that are objects; GeoJSON geometries and lists are replaced whole. */
const OBJECT_MEMBERS = ['context', 'eventThresholds', 'notificationConsent'] as const;
type ObjectMember = (typeof OBJECT_MEMBERS)[number];

function patchedObjects(
  members: SearchMembers,
  patch: Readonly<Record<string, unknown>>,
): Partial<Record<ObjectMember, unknown>> {
  // A patch of the consent does not merge with the consent of another address.
  const { notificationRecipient: address = members.notificationRecipient } = patch;
  const consent = address === members.notificationRecipient ? members.notificationConsent : null;
  const names = OBJECT_MEMBERS.filter((name) => Object.hasOwn(patch, name));
  return Object.fromEntries(
    names.map((name) => {
      const value = mergePatch({ ...members, notificationConsent: consent }[name], patch[name]);
      const isEmptied = name !== 'context' && isRecord(value) && Object.keys(value).length === 0;
      return [name, isEmptied ? null : value];
    }),
  );
}

/** RFC 7396, section 2. */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const merged = new Map(isRecord(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}

/** Consent belongs to an address: a change of the address without a new consent removes it. */
function merged(latest: SearchMembers, changes: Partial<SearchMembers>): SearchMembers {
  const members = { ...latest, ...changes };
  const [before, after] = [latest, members].map(({ notificationRecipient }) => notificationRecipient?.toLowerCase());
  return before === after || changes.notificationConsent !== undefined
    ? members
    : { ...members, notificationConsent: null };
}

/** `sent`: the members that the request changes. */
function finish(
  members: SearchMembers,
  sent: Partial<SearchMembers>,
  violations: Violations,
  before: SearchMembers | null = null,
): SearchMembers {
  findConflicts(members, violations);
  findImpliedFeatures(members, before, violations);
  findAlternativeFaults(members, violations);
  const unset = unsetAmong(members);
  for (const [index, name] of (sent.orMissing ?? []).entries()) {
    // A member that was sent and refused does not count as unset.
    if (unset.get(name)?.every((member) => !violations.isReported(member)))
      violations.add(['orMissing', index], FAULTS.unsetCriterion, 'criterion_not_set');
  }
  violations.throwAny();
  return unset.size === 0 ? members : { ...members, orMissing: members.orMissing.filter((name) => !unset.has(name)) };
}

/** Reports faults of alternatives, alone and in combination with the search's own criteria. */
function findAlternativeFaults(members: SearchMembers, violations: Violations): void {
  if (members.alternatives.length === 0) return;
  const criteria = criteriaOf(members, String);
  for (const [index, alternative] of alternativesOf(members).entries()) {
    const path = ['alternatives', index];
    const own = criteriaOf(alternative, String);
    const set = ALTERNATIVE_CRITERIA.filter((row) => row.isSet(own));
    if (set.length === 0) violations.add(path, FAULTS.emptyAlternative, 'required');
    for (const row of set.filter((one) => one.isSet(criteria))) {
      const stored = members.alternatives[index] as StoredAlternative;
      const [name] = Object.keys(row.members).filter((member) => Object.hasOwn(stored, member));
      violations.add([...path, name as string], FAULTS.setOnSearch, 'set_on_search');
    }
    if (placeCount(own.areas) > PLACES_OF_ALTERNATIVE_MAX)
      violations.add(path, FAULTS.placesOfAlternative(PLACES_OF_ALTERNATIVE_MAX), 'too_long');
    findConflicts(alternative, violations, path);
    findImpliedFeatures(alternative, null, violations, path);
    for (const name of unsetAmong(alternative).keys())
      violations.add(
        [...path, 'orMissing', alternative.orMissing.indexOf(name)],
        FAULTS.unsetCriterion,
        'criterion_not_set',
      );
  }
}

/** The criteria in `orMissing` that the search or the alternative does not set, and their members. */
function unsetAmong(members: CriterionMembers): ReadonlyMap<string, readonly string[]> {
  const { orMissing } = members;
  if (orMissing.length === 0) return new Map();
  const criteria = criteriaOf(members, String);
  const unset = ASKED_CRITERIA.filter((row) => orMissing.includes(row.name) && !row.isSet(criteria));
  return new Map(unset.map((row) => [row.name, Object.keys(row.members)]));
}

async function readChanges(
  body: unknown,
  present: PresentSearch | null,
  rules: InputRules,
  violations: Violations,
): Promise<Partial<SearchMembers>> {
  if (!isRecord(body)) throw invalid([], FAULTS.objectBody, 'invalid_type');
  const input: Record<string, unknown> = {};
  const kept: Record<string, unknown> = {};
  for (const name of Object.keys(body)) {
    if (isIgnored(name)) continue;
    if (!isMemberName(name)) violations.addUnknown([name], KINDS_OF_MEMBER.search, MEMBER_NAMES);
    else if (present !== null && isDeepStrictEqual(body[name], present.document[name]))
      kept[name] = present.members[name];
    else readMember(name, body[name], input, rules, violations);
  }
  return { ...(await resolve(input, rules, violations)), ...kept };
}

const MEMBER_NAMES = Object.keys(SEARCH_MEMBERS);

function readMember(
  name: SearchMemberName,
  value: unknown,
  input: Record<string, unknown>,
  { baseUrl }: InputRules,
  violations: Violations,
): void {
  const read = SEARCH_MEMBERS[name].read(value, { baseUrl, violations, path: [name] });
  if (read !== REFUSED) input[name] = read;
}

const [CITIES, DEPARTMENTS, CATEGORIES] = [membersOf('cities'), membersOf('departments'), membersOf('siteCategories')];

/** Replaces ids of cities and departments by keys. Reports unknown ids and codes, and refused endpoints. */
async function resolve(
  input: SearchInput,
  rules: InputRules,
  violations: Violations,
  path: Path = [],
): Promise<Partial<SearchMembers>> {
  const keysOf = <Key>(
    name: keyof SearchInput,
    ids: readonly number[],
    collection: string,
    keyOf: (id: number) => Key | undefined,
  ): Key[] =>
    ids.flatMap((id, index) => {
      const key = keyOf(id);
      if (key === undefined) violations.add([...path, name, index], FAULTS.nothing(collection), 'unknown_reference');
      return key ?? [];
    });
  const inseeOf = (id: number) => rules.reference.cityById(id)?.insee;
  const codeOf = (id: number) => rules.reference.departmentById(id)?.code;
  for (const name of ['endpointRecipient', 'eventEndpoint'] as const) {
    const url = input[name];
    const fault = url ? endpointFault(url, rules) : url === '' ? FAULTS.absoluteUrl : null;
    if (fault !== null) violations.add([name], fault, 'invalid_endpoint');
  }
  findUnknownCodes(input, rules, violations, path);
  if (CATEGORIES.some((name) => (input[name] ?? []).length > 0)) {
    const known = await rules.siteCategoryIds();
    for (const name of CATEGORIES)
      keysOf(name, input[name] ?? [], '/site_categories', (id) => (known.has(id) ? id : undefined));
  }
  const keys: Partial<Record<(typeof CITIES | typeof DEPARTMENTS)[number], readonly string[]>> = {};
  for (const name of CITIES) if (input[name]) keys[name] = keysOf(name, input[name], '/cities', inseeOf);
  for (const name of DEPARTMENTS) if (input[name]) keys[name] = keysOf(name, input[name], '/departments', codeOf);
  const { alternatives } = input;
  if (alternatives === undefined) return { ...input, ...keys } as Partial<SearchMembers>;
  const resolved = alternatives.map((one, index) => resolve(one, rules, violations, ['alternatives', index]));
  return { ...input, ...keys, alternatives: await Promise.all(resolved) } as Partial<SearchMembers>;
}

function findUnknownCodes(input: SearchInput, { reference }: InputRules, violations: Violations, path: Path): void {
  for (const name of membersOf('inseeCodes')) {
    for (const [index, insee] of (input[name] ?? []).entries())
      if (reference.city(insee) === null) violations.add([...path, name, index], FAULTS.noCommune, 'unknown_reference');
  }
  for (const name of membersOf('zipcodes')) {
    for (const [index, zipcode] of (input[name] ?? []).entries())
      if (!reference.isZipcode(zipcode)) violations.add([...path, name, index], FAULTS.noZipcode, 'unknown_reference');
  }
}

const RANGES = plainCriteria('range');

/** Reports contradictions between members. In most ranges a maximum of 0 means no limit (`requestedRange`). */
function findConflicts(members: CriterionMembers, violations: Violations, path: Path = []): void {
  for (const row of RANGES) {
    const { minName } = row;
    const { min, max } = requestedRange(row, members);
    if (minName === null || min === null || max === null || min <= max) continue;
    violations.add([...path, minName], FAULTS.aboveMaximum(max, row.words.unit), 'min_above_max');
  }
  for (const [index, name] of members.excludedFeatures.entries()) {
    if (members.includedFeatures.includes(name))
      violations.add([...path, 'excludedFeatures', index], FAULTS.includedToo('includedFeatures'), 'in_both_lists');
  }
  const publishers = new Set(members.includedPublishers.map(publisherKey));
  for (const [index, name] of members.excludedPublishers.entries()) {
    if (publishers.has(publisherKey(name)))
      violations.add([...path, 'excludedPublishers', index], FAULTS.includedToo('includedPublishers'), 'in_both_lists');
  }
  const circle = ['lat', 'lon', 'radius'] as const;
  const missing = circle.filter((name) => members[name] === null);
  if (missing.length === circle.length) return;
  // A member that was sent and refused does not count as missing.
  for (const name of missing) {
    if (!violations.isReported(name)) violations.add([...path, name], FAULTS.circle, 'incomplete_circle');
  }
}

/** Reports an excluded feature that an included one implies. A stored search with such a pair may keep it. */
function findImpliedFeatures(
  members: CriterionMembers,
  before: SearchMembers | null,
  violations: Violations,
  path: Path = [],
): void {
  const { includedFeatures, excludedFeatures } = members;
  const lists = [includedFeatures, excludedFeatures];
  if (before !== null && isDeepStrictEqual(lists, [before.includedFeatures, before.excludedFeatures])) return;
  for (const name of includedFeatures) {
    const implied = impliedFeature(name);
    const index = implied === null ? -1 : excludedFeatures.indexOf(implied);
    if (index >= 0) violations.add([...path, 'excludedFeatures', index], FAULTS.impliedBy(name), 'in_both_lists');
  }
}

function isMemberName(name: string): name is SearchMemberName {
  return Object.hasOwn(SEARCH_MEMBERS, name);
}

/**
 * Why `text` is not a valid endpoint, or null if it is one (decisions, section 2). At each connection, `connector.ts`
 * checks the host again and the addresses of its name. Ports are checked only here, so that an endpoint that was saved
 * under other rules keeps working.
 */
export function endpointFault(text: string, { allowPrivateEndpoints, endpointPorts }: EndpointRules): Sentence | null {
  const url = parseUrl(text);
  if (url === null) return FAULTS.absoluteUrl;
  const isWeb = url.protocol === 'https:' || (allowPrivateEndpoints && url.protocol === 'http:');
  if (!isWeb) return allowPrivateEndpoints ? FAULTS.httpsOrHttp : FAULTS.https;
  if (url.username !== '' || url.password !== '') return FAULTS.credentials;
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
  if (!endpointPorts.some(({ from, to }) => from <= port && port <= to)) {
    return FAULTS.ports(endpointPorts.map(nameOf).join(', '));
  }
  if (!allowPrivateEndpoints && hostFault(url.hostname) !== null) return FAULTS.privateNetwork;
  return null;
}

function nameOf({ from, to }: EndpointRules['endpointPorts'][number]): string {
  return from === to ? String(from) : `${from} to ${to}`;
}

/** URL parsers drop tabs and line breaks and trim spaces, but the stored URL must equal the URL that is called. */
function parseUrl(text: string): URL | null {
  const isClean = /^[^\s\p{Cc}]+$/u.test(text);
  return isClean && URL.canParse(text) ? new URL(text) : null;
}
