/**
 * Saved searches for their owner. A search is found only by its id and its client, so no client can see or change the
 * searches of another. The column `members` has only members that differ from their defaults. This saves two thirds of
 * the bytes, which determine how long the matcher takes to load a million searches. Therefore a default may change only
 * together with a migration that stores its old value in each search.
 */

import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { CRITERION_MEMBERS, UNASKED } from '../domain/criterion-table.ts';
import { comparesWithNotified } from '../domain/event-thresholds.ts';
import { type SearchNumber, timeOrderedUuid, type Uuid } from '../domain/ids.ts';
import type { MailStanding } from '../domain/mail.ts';
import { NEW_MATCHES_MAX, SEARCH_DEFAULTS, type Search, type SearchMembers, searchableText } from '../domain/search.ts';
import { combinationsIn, type SearchLimits, weightAdded, weightOf } from '../domain/search-limits.ts';
import { foldText } from '../domain/text.ts';
import { SILENCE } from './cancellations.ts';
import { passed } from './claim-fence.ts';
import { type Database, type Queryable, transaction } from './database.ts';
import { WAITING } from './delivery-states.ts';
import { type KeyedRequest, type MadeOnce, makeOnce } from './idempotency-keys.ts';
import { MAIL_COLUMNS } from './mail-conditions.ts';
import { requireCombinations, requireRoom, withWriteLock } from './search-totals.ts';

export interface SearchRow extends Omit<Search, 'members' | 'mail'>, Omit<MailStanding, 'key'> {
  readonly mailKey: string | null;
  readonly members: StoredMembers;
  /** JSON. */
  readonly context: string | null;
}

/** The stored `members`: the title, and members that differ from `SEARCH_DEFAULTS`. */
export type StoredMembers = Partial<Omit<SearchMembers, 'context'>> & Pick<SearchMembers, 'title'>;

/** SQL: the number of matches since a time, at most `NEW_MATCHES_MAX`. Served by matches_search. */
const matchesSince = (moment: string): string => `(select count(*)::integer from (select from matches
  where search_number = searches.number and created_at > ${moment} limit ${NEW_MATCHES_MAX}) recent)`;

export const OTHER_COLUMNS = `number, id, client_id as "clientId", token, created_at as "createdAt",
  updated_at as "updatedAt", last_alert_at as "lastAlertAt", seen_at as "seenAt",
  ${matchesSince("coalesce(seen_at, '-infinity')")} as "newSinceSeen",
  ${matchesSince("now() - interval '7 days'")} as "matchedLast7Days", context, ${MAIL_COLUMNS}`;
export const SEARCH_COLUMNS = `${OTHER_COLUMNS}, members`;

/** The object that `membersOfStored` copies: `{ title, ...SEARCH_DEFAULTS }` takes five times as long. */
const UNSET_MEMBERS = { title: '', ...SEARCH_DEFAULTS };

/**
 * Assigns the members one by one. Spreading `stored` would give every combination of names its own hidden class in V8.
 * Reading the members of the million searches that the matcher loads would then be ten times slower.
 */
export function membersOfStored(stored: StoredMembers): SearchMembers {
  const differing: Readonly<Record<string, unknown>> = stored;
  const members: Record<string, unknown> = { ...UNSET_MEMBERS };
  for (const name of Object.keys(differing)) members[name] = differing[name];
  return members as unknown as SearchMembers;
}

function storedOfMembers({ context: _context, ...members }: SearchMembers): StoredMembers {
  const defaults: Readonly<Record<string, unknown>> = SEARCH_DEFAULTS;
  const differing = Object.entries(members).filter(([name, value]) => !isDeepStrictEqual(value, defaults[name]));
  return { ...Object.fromEntries(differing), title: members.title };
}

export const NO_LIMITS: SearchLimits = {
  searches: Number.MAX_SAFE_INTEGER,
  polygonCorners: Number.MAX_SAFE_INTEGER,
  excludedWords: Number.MAX_SAFE_INTEGER,
  matchesPerAdvert: Number.MAX_SAFE_INTEGER,
};

export interface NewSearch {
  readonly members: SearchMembers;
  /** Estimated number of matching adverts per 1,000. */
  readonly matchesPerMille?: number;
  readonly limits?: SearchLimits;
}

/** Throws `SearchLimitError` and `CombinationLimitError`. */
export async function createSearch(
  database: Database,
  clientId: Uuid,
  members: SearchMembers,
  others: Omit<NewSearch, 'members'> = {},
): Promise<Search> {
  return withWriteLock(clientId, () =>
    transaction(database, (connection) => createSearchWithin(connection, clientId, { members, ...others })),
  );
}

/** Like `createSearch`, for a request with an `Idempotency-Key`. Throws like `createSearch`. */
export async function createSearchOnce(
  database: Database,
  search: NewSearch,
  request: KeyedRequest,
): Promise<MadeOnce<Search>> {
  const { clientId } = request;
  return withWriteLock(clientId, () =>
    makeOnce(database, request, (connection) => createSearchWithin(connection, clientId, search)),
  );
}

async function createSearchWithin(connection: Queryable, clientId: Uuid, search: NewSearch): Promise<Search> {
  const { members, matchesPerMille = 0, limits = NO_LIMITS } = search;
  const added = { searches: 1, ...weightOf(members), matchesPerAdvert: matchesPerMille / 1_000 };
  await requireRoom(connection, clientId, added, limits);
  if (combinationsIn(members).length > 0) await requireCombinations(connection, clientId, members, null);
  await liftErasure(connection, clientId, members);
  return insertSearch(connection, clientId, members, matchesPerMille);
}

/**
 * Ends the erasure of an address if the saved consent is newer than the erasure. An unsubscription stays in force.
 * Fails while the recipient is locked, and is then retried, because an erasure locks the recipient before its searches.
 * Served by the primary keys.
 */
async function liftErasure(connection: Queryable, clientId: Uuid, members: SearchMembers): Promise<void> {
  const { notificationRecipient: address, notificationConsent: consent } = members;
  if (address === null || consent === null) return;
  await connection.query(
    `with erased as materialized (
       select key from mail_recipients join mail_choices on recipient_key = key
       where key = mail_key_of($1, $2) and kind = 'erasure' and value = 'true' and at < $3
       for update of mail_recipients nowait
     )
     update mail_choices set value = 'false',
       at = date_trunc('milliseconds', greatest(clock_timestamp(), at + interval '1 millisecond'))
     from erased where recipient_key = key and kind = 'erasure'`,
    [clientId, address, consent.at],
  );
}

async function insertSearch(
  connection: Queryable,
  clientId: Uuid,
  members: SearchMembers,
  matchesPerMille: number,
): Promise<Search> {
  const token = `whsec_${randomBytes(32).toString('base64')}`;
  const { rows } = await connection.query<SearchRow>({
    name: 'insert-search',
    text: `
      insert into searches (id, client_id, token, title, title_folded, members, notification_enabled, endpoint_recipient,
        event_endpoint, subscribed_events, hide_property_contact, context, mail_key, event_thresholds, searchable,
        point_combinations, matches_per_mille)
      select $1::uuid, $2::uuid, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, mail_key_of($2::uuid, $13),
        case when $14::json is not null then event_thresholds_of($14, $15, null, false) end, $16, $17::text[], $18::smallint
      returning ${SEARCH_COLUMNS}`,
    values: [timeOrderedUuid(new Date()), clientId, token, ...columnsOf(members), matchesPerMille],
  });
  return searchOfRow(rows[0] as SearchRow);
}

/** Null if the client has no such search or it was deleted. Served by the unique index on id. */
export async function readSearch(database: Queryable, clientId: Uuid, id: Uuid): Promise<Search | null> {
  const { rows } = await database.query<SearchRow>(
    `select ${SEARCH_COLUMNS} from searches where id = $1 and client_id = $2 and deleted_at is null`,
    [id, clientId],
  );
  return rows[0] === undefined ? null : searchOfRow(rows[0]);
}

/** Estimates how many of 1,000 adverts a search with these members matches. Uses no database connection. */
export type EstimateMatches = (members: SearchMembers) => Promise<number>;

export interface SearchUpdate {
  /** Computes the new members from the current search. If it throws, the search stays unchanged. */
  readonly merge: (present: Search) => SearchMembers;
  /** If the totals already exceed a limit, the search may keep its size. */
  readonly limits?: SearchLimits;
  readonly estimate?: EstimateMatches;
  /** True if waiting e-mails must be cancelled when the consent is cleared. */
  readonly isConsentRequired?: boolean;
}

/**
 * Changes a search while its row is locked, so that concurrent partial updates do not undo one another. Null if there
 * is no such search. If the change silences the search, the row is marked, so that open deliveries are cancelled
 * (cancellations.ts). A new address clears the refusal of the former address. Throws like `createSearch`.
 */
export async function updateSearch(
  database: Database,
  clientId: Uuid,
  id: Uuid,
  { merge, limits = NO_LIMITS, estimate, isConsentRequired = false }: SearchUpdate,
): Promise<Search | null> {
  const search = await lockingSearch(database, clientId, id, async (connection, present) => {
    if (present === null) return null;
    const members = merge(present);
    const matches = estimate && (await estimateChange(present.members, members, estimate));
    const matchesPerAdvert = (matches?.added ?? 0) / 1_000;
    const added = { searches: 0, ...weightAdded(present.members, members), matchesPerAdvert };
    const named = combinationsIn(present.members);
    const namesOthers = combinationsIn(members).some((key) => !named.includes(key));
    if (namesOthers || Object.values(added).some((one) => one > 0))
      await requireRoom(connection, clientId, added, limits);
    if (namesOthers) await requireCombinations(connection, clientId, members, present.number);
    await liftErasure(connection, clientId, members);
    const hasConsentEnded = present.members.notificationConsent !== null && members.notificationConsent === null;
    if (isConsentRequired && hasConsentEnded) await cancelWaitingMail(connection, present.number);
    const isRecorded = await recordSearchChange(connection, present.number, present.members, members);
    // Served by the primary key. `revision` is the number of this transaction (see search-feed.ts).
    const { rows } = await connection.query<SearchRow>(
      `update searches set title = $2, title_folded = $3, members = $4, notification_enabled = $5,
         endpoint_recipient = $6, event_endpoint = $7, subscribed_events = $8, hide_property_contact = $9,
         context = $10, generation = generation + (notification_enabled and not $5)::integer, silenced_at = case
           when notification_enabled and not $5 then clock_timestamp() else silenced_at end,
         mail_key = mail_key_of(client_id, $11), mail_refused_at = case
           when members ->> 'notificationRecipient' = $4::json ->> 'notificationRecipient' then mail_refused_at end,
         event_thresholds = case when $12::json is not null then
           event_thresholds_of($12, $13, event_thresholds, $5 and not notification_enabled) end,
         searchable = $14, point_combinations = $15, matches_per_mille = coalesce($16, matches_per_mille),
         version = version + $17::boolean::integer,
         updated_at = now(), revision = pg_current_xact_id()
       where number = $1 returning ${SEARCH_COLUMNS}`,
      [present.number, ...columnsOf(members), matches?.after ?? null, isRecorded],
    );
    return searchOfRow(rows[0] as SearchRow);
  });
  if (search !== null && !search.members.notificationEnabled) await passed(database);
  return search;
}

/** Skips locked items, because their current or next claim cancels them. Served by mail_items_search. */
async function cancelWaitingMail(connection: Queryable, number: SearchNumber): Promise<void> {
  await connection.query(
    `with open as materialized (
       select id from mail_items where search_number = $1 and state in ${WAITING} order by id for update skip locked
     )
     update mail_items set state = 'cancelled', finished_at = clock_timestamp() from open where mail_items.id = open.id`,
    [number],
  );
}

/** Estimates both versions with current data, and ignores the stored estimate. Null if the criteria are the same. */
async function estimateChange(present: SearchMembers, next: SearchMembers, estimate: EstimateMatches) {
  const isSame = (name: string) => isDeepStrictEqual(Reflect.get(present, name), Reflect.get(next, name));
  if (Object.keys(UNASKED).every(isSame)) return null;
  const [before, after] = [await estimate(present), await estimate(next)];
  return { added: after - before, after };
}

/**
 * Marks a search as deleted. Its open deliveries are cancelled later (cancellations.ts), and the row remains until all
 * its deliveries are removed. False if there is no such search. If `check` throws, the search stays unchanged.
 */
export async function deleteSearch(
  database: Database,
  clientId: Uuid,
  id: Uuid,
  check: (present: Search) => void = () => undefined,
): Promise<boolean> {
  const isDeleted = await lockingSearch(database, clientId, id, async (connection, present) => {
    if (present === null) return false;
    check(present);
    // Served by the primary key.
    await connection.query(
      `update searches set deleted_at = now(), notification_enabled = false, ${SILENCE},
         revision = pg_current_xact_id()
       where number = $1`,
      [present.number],
    );
    return true;
  });
  if (isDeleted) await passed(database);
  return isDeleted;
}

/**
 * Runs `work` in a transaction that locks the search. `present` is null if the client has no such search or it was
 * deleted. Served by the unique index on id.
 */
function lockingSearch<T>(
  database: Database,
  clientId: Uuid,
  id: Uuid,
  work: (connection: Queryable, present: Search | null) => Promise<T>,
): Promise<T> {
  return withWriteLock(clientId, () =>
    transaction(database, async (connection) => {
      const { rows } = await connection.query<SearchRow>(
        `select ${SEARCH_COLUMNS} from searches where id = $1 and client_id = $2 and deleted_at is null
         for update nowait`,
        [id, clientId],
      );
      return work(connection, rows[0] === undefined ? null : searchOfRow(rows[0]));
    }),
  );
}

function columnsOf(members: SearchMembers): unknown[] {
  const combinations = combinationsIn(members);
  return [
    members.title,
    foldText(members.title),
    JSON.stringify(storedOfMembers(members)),
    members.notificationEnabled,
    members.endpointRecipient,
    members.eventEndpoint,
    members.subscribedEvents,
    members.hidePropertyContact,
    members.context === null ? null : JSON.stringify(members.context),
    members.notificationRecipient,
    members.eventThresholds === null ? null : JSON.stringify(members.eventThresholds),
    comparesWithNotified(members.eventThresholds),
    searchableText(members),
    combinations.length === 0 ? null : combinations,
  ];
}

export function searchOfRow({
  mailKey: key,
  isRefused,
  isUnsubscribed,
  isErased,
  context,
  ...rest
}: SearchRow): Search {
  const { frequencyChosen, ...row } = rest;
  const members = { ...membersOfStored(row.members), context: context === null ? null : JSON.parse(context) };
  return { ...row, members, mail: { key, isRefused, isUnsubscribed, isErased, frequencyChosen } };
}

const RECORDED = [
  ...(Object.keys(CRITERION_MEMBERS) as (keyof typeof CRITERION_MEMBERS)[]),
  'notificationEnabled',
  'endpointRecipient',
  'eventEndpoint',
  'subscribedEvents',
  'eventThresholds',
  'notificationFrequency',
] as const;

/** Maximum number of former versions that are stored per search. */
const CHANGES_MAX = 200;

/**
 * Records the former values before a change of criteria, endpoints or notifications, so that explanations can show
 * those of an earlier time. Call it before the change, in the same transaction. Resolves with true if such values
 * change; the caller then increments the version. Served by search_changes_search.
 */
async function recordSearchChange(
  client: Queryable,
  number: SearchNumber,
  present: SearchMembers,
  next: SearchMembers,
): Promise<boolean> {
  const former = formerOf(present, next);
  if (Object.keys(former).length === 0) return false;
  await client.query(
    `insert into search_changes (search_number, version, former)
     select number, version + 1, $2 from searches where number = $1`,
    [number, JSON.stringify(former)],
  );
  await client.query(
    `delete from search_changes where search_number = $1 and id <= (
       select id from search_changes where search_number = $1 order by id desc offset $2 limit 1)`,
    [number, CHANGES_MAX],
  );
  return true;
}

/** The former values of the members that change. Of an e-mail address, only its existence is recorded. */
function formerOf(present: SearchMembers, next: SearchMembers): Readonly<Record<string, unknown>> {
  const former: Record<string, unknown> = {};
  for (const name of RECORDED) if (!isDeepStrictEqual(present[name], next[name])) former[name] = present[name];
  const [had, has] = [present.notificationRecipient !== null, next.notificationRecipient !== null];
  return had === has ? former : { ...former, hasNotificationRecipient: had };
}
