/**
 * The history of searches: what one was before each change that bears on what it finds and whom it notifies. Written with
 * the change, in its transaction, so that what was notified can be explained by what was asked for then.
 */

import { isDeepStrictEqual } from 'node:util';
import { CRITERION_MEMBERS } from '../domain/criterion-table.ts';
import type { SearchNumber } from '../domain/ids.ts';
import type { SearchMembers } from '../domain/search.ts';
import type { Queryable } from './database.ts';

const RECORDED = [
  ...(Object.keys(CRITERION_MEMBERS) as (keyof typeof CRITERION_MEMBERS)[]),
  'notificationEnabled',
  'endpointRecipient',
  'eventEndpoint',
  'subscribedEvents',
  'notificationFrequency',
] as const;

/** Of a search; somebody who switches one to and fro keeps no more. */
const CHANGES_MAX = 200;

/**
 * Within the transaction that changes the search, before it does. Resolves with whether there is such a change: it counts
 * the version up. Served by search_changes_search.
 */
export async function recordSearchChange(
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

/** The members that differ, as they were. Of an e-mail address no more than whether there was one. */
function formerOf(present: SearchMembers, next: SearchMembers): Readonly<Record<string, unknown>> {
  const former: Record<string, unknown> = {};
  for (const name of RECORDED) if (!isDeepStrictEqual(present[name], next[name])) former[name] = present[name];
  const [had, has] = [present.notificationRecipient !== null, next.notificationRecipient !== null];
  return had === has ? former : { ...former, hasNotificationRecipient: had };
}
