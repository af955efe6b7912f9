/**
 * The expected state of the service after some messages, each taken in once and in order. Plain domain code computes
 * it message by message and tests every search, without batches or an index. Tests compare it with PostgreSQL's rows.
 */

import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { AdvertEvent } from '../../src/engine/domain/advert.ts';
import { applyMessage, type StoredProperty } from '../../src/engine/domain/change.ts';
import type { ResolvePlace } from '../../src/engine/domain/city.ts';
import { type Criteria, satisfies } from '../../src/engine/domain/criteria.ts';
import { decodeIntakeMessage } from '../../src/engine/domain/intake-message.ts';
import { NO_MEDIANS } from '../../src/engine/domain/market-prices.ts';
import { isLive } from '../../src/engine/domain/property.ts';
import { propertyDocument, propertyFacts, readingOf } from '../../src/engine/domain/property-document.ts';
import { criteriaOf, SEARCH_DEFAULTS, type SearchMembers } from '../../src/engine/domain/search.ts';
import type { Database } from '../../src/engine/store/database.ts';
import { type StoredRow, storedPropertyOf } from '../../src/engine/store/properties.ts';
import type { AuditedDelivery } from './order-auditor.ts';
import { RECOVERY_MAX_MS, until } from './until.ts';

/**
 * A search that exists before the first message. Price coherence is off, because the oracle does not compute medians.
 */
export interface OracleSearch {
  readonly id: string;
  readonly members: Partial<SearchMembers> & { readonly withCoherentPrice: null };
}

export interface Expectation {
  readonly properties: ReadonlyMap<string, StoredProperty>;
  /** The events of each property, in order. */
  readonly events: ReadonlyMap<string, readonly AdvertEvent[]>;
  /** Keys as `deliveryKeyOf` builds them. */
  readonly deliveries: readonly string[];
}

interface JudgedSearch {
  readonly id: string;
  readonly members: SearchMembers;
  readonly criteria: Criteria;
  /** Properties that have begun to satisfy it. */
  readonly begun: Set<string>;
}

/** `messages`: as crawlers write them, in the order of the stream. */
export function replay(
  messages: readonly unknown[],
  searches: readonly OracleSearch[],
  resolvePlace: ResolvePlace,
): Expectation {
  const evaluated = searches.map(({ id, members }): JudgedSearch => {
    const whole = { ...SEARCH_DEFAULTS, title: '', ...members };
    return { id, members: whole, criteria: criteriaOf(whole, () => null), begun: new Set() };
  });
  const properties = new Map<string, StoredProperty>();
  const events = new Map<string, AdvertEvent[]>();
  const deliveries: string[] = [];
  for (const [position, json] of messages.entries()) {
    const message = decodeIntakeMessage(Buffer.from(JSON.stringify(json)));
    const before = properties.get(message.propertyUuid) ?? null;
    const change = applyMessage(before, message, { stream: 1, sequence: position + 1 });
    if (change.stored === null) continue;
    properties.set(message.propertyUuid, change.stored);
    events.set(message.propertyUuid, [...(events.get(message.propertyUuid) ?? []), ...change.events]);
    if (!change.mayAffectMatches) continue;
    for (const search of evaluated) {
      deliveries.push(...deliveriesTo(search, before, change.stored, change.events, resolvePlace));
    }
  }
  return { properties, events, deliveries };
}

/** A new match goes to `endpointRecipient`, every subscribed event to `eventEndpoint` (decisions, section 4). */
function deliveriesTo(
  { id, members, criteria, begun }: JudgedSearch,
  before: StoredProperty | null,
  after: StoredProperty,
  events: readonly AdvertEvent[],
  resolvePlace: ResolvePlace,
): string[] {
  const { uuid } = after.state;
  const isSatisfied = (stored: StoredProperty | null): boolean =>
    stored?.state.adverts.some(isLive) === true &&
    satisfies(criteria, propertyFacts(readingOf(stored.state, stored.crawls, resolvePlace), NO_MEDIANS));
  const [was, is] = [isSatisfied(before), isSatisfied(after)];
  if (!members.notificationEnabled || !(was || is)) return [];
  const document = propertyDocument(after.state, after.crawls, resolvePlace, {
    withContacts: !members.hidePropertyContact,
  });
  const keys: string[] = [];
  const tell = (channel: string, kind: string, field: AdvertEvent['field'], createdAt: string | null): void => {
    const changed = field === null ? null : [field.fieldName, field.fieldOldValue, field.fieldNewValue, createdAt];
    keys.push(keyOf(id, channel, kind, changed, document));
  };
  if (is && !was && !begun.has(uuid)) {
    begun.add(uuid);
    const isNewAdvert = events.some(({ kind }) => kind === 'property.ad.create');
    if (members.endpointRecipient !== null) {
      tell('match', isNewAdvert ? 'property.ad.create' : 'property.ad.update', null, null);
    }
  }
  for (const { kind, field, createdAt } of members.eventEndpoint === null ? [] : events) {
    if (members.subscribedEvents.includes(kind)) tell('event', kind, field, createdAt);
  }
  return keys;
}

/** The key that `replay` gives to a delivery: its addressee, its event, and the whole document. */
export function deliveryKeyOf({ searchId, channel, kind, body }: AuditedDelivery): string {
  const { adEvent, match } = JSON.parse(body);
  const changed =
    adEvent === undefined ? null : [adEvent.fieldName, adEvent.fieldOldValue, adEvent.fieldNewValue, adEvent.createdAt];
  return keyOf(searchId, channel, kind, changed, match.propertyDocument);
}

function keyOf(searchId: string, channel: string, kind: string, changed: unknown, document: unknown): string {
  const { uuid } = document as { readonly uuid: string };
  const digest = createHash('sha256')
    .update(JSON.stringify(inKeyOrder(document)))
    .digest('hex')
    .slice(0, 16);
  return [searchId, channel, kind, uuid, JSON.stringify(changed), digest].join(' ');
}

/** Leaves out the origins of the messages, because the oracle numbers messages in its own way. */
function comparable({ state, crawls }: StoredProperty): unknown {
  const times = Object.entries(crawls).map(([uuid, [crawledAt]]) => [uuid, crawledAt]);
  return inKeyOrder(JSON.parse(JSON.stringify({ state, crawls: Object.fromEntries(times) })));
}

/** Describes the first difference; null if there is none. */
function differenceOf(found: unknown, expected: unknown, path = ''): string | null {
  if (isDeepStrictEqual(found, expected)) return null;
  const isTree = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
  if (!isTree(found) || !isTree(expected)) {
    return `${path} is ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`.slice(0, 400);
  }
  for (const name of Object.keys({ ...expected, ...found })) {
    const difference = differenceOf(found[name], expected[name], `${path}/${name}`);
    if (difference !== null) return difference;
  }
  return null;
}

/** PostgreSQL reorders the members of a JSON object. */
function inKeyOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inKeyOrder);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, inKeyOrder(member)]));
}

/** Resolves when all expected events are recorded. */
export async function untilRecorded(database: Pick<Database, 'query'>, { events }: Expectation): Promise<void> {
  const expected = [...events.values()].flat().length;
  await until(
    async () => Number((await database.query<{ count: string }>('select count(*) from events')).rows[0]?.count),
    (count) => count >= expected,
    RECOVERY_MAX_MS,
  );
}

/** Describes where recorded properties and events differ from the expectation; empty if they are equal. */
export async function auditRecords(
  database: Pick<Database, 'query'>,
  { properties, events }: Pick<Expectation, 'properties' | 'events'>,
): Promise<readonly string[]> {
  const faults: string[] = [];
  const { rows } = await database.query<StoredRow & { uuid: string }>('select uuid, state, crawls from properties');
  const recorded = new Map(rows.map((row) => [row.uuid, storedPropertyOf(row)]));
  for (const uuid of new Set([...properties.keys(), ...recorded.keys()])) {
    const [expected, found] = [properties.get(uuid), recorded.get(uuid)];
    if (expected === undefined) faults.push(`property ${uuid} exists, but no message is about it`);
    else if (found === undefined) faults.push(`property ${uuid} is missing`);
    else {
      const difference = differenceOf(comparable(found), comparable(expected));
      if (difference !== null) faults.push(`property ${uuid} differs from its messages: ${difference}`);
    }
  }
  const told = await readEvents(database);
  for (const uuid of new Set([...events.keys(), ...told.keys()])) {
    const expected = (events.get(uuid) ?? []).map(lineOf);
    const found = (told.get(uuid) ?? []).map(lineOf);
    if (isDeepStrictEqual(expected, found)) continue;
    const place = expected.findIndex((line, position) => line !== found[position]);
    const at = place === -1 ? expected.length : place;
    faults.push(
      `events of ${uuid}: ${found.length} of ${expected.length}; ` +
        `the ${at + 1}. is ${found[at] ?? 'missing'}, not ${expected[at] ?? 'any'}`,
    );
  }
  return faults;
}

async function readEvents(database: Pick<Database, 'query'>): Promise<Map<string, AdvertEvent[]>> {
  const { rows } = await database.query<Record<string, string | null> & { created_at: Date }>(
    `select property_uuid, advert_uuid, kind, field_name, field_old_value, field_new_value, created_at
     from events order by id`,
  );
  const told = new Map<string, AdvertEvent[]>();
  for (const row of rows) {
    const uuid = String(row.property_uuid);
    const field =
      row.field_name === null
        ? null
        : {
            fieldName: row.field_name,
            fieldOldValue: row.field_old_value,
            fieldNewValue: row.field_new_value,
            percentVariation: null,
          };
    const event = { kind: row.kind, advertUuid: row.advert_uuid, createdAt: row.created_at.toISOString(), field };
    const list = told.get(uuid) ?? [];
    told.set(uuid, list);
    list.push(event as AdvertEvent);
  }
  return told;
}

function lineOf({ kind, advertUuid, createdAt, field }: AdvertEvent): string {
  const changed = field === null ? '' : ` ${field.fieldOldValue} → ${field.fieldNewValue}`;
  return `${kind} of ${advertUuid} at ${createdAt}${changed}`;
}
