/**
 * The order of webhooks (decisions, section 6, "Order"), judged by what the receiver saw and what the rows say. Of two
 * deliveries of one match the later one begins once the first attempt of the earlier one has ended, unless that one was
 * cancelled before, or belongs to another endpoint and has been waited for long enough.
 */

import { HELD_BACK_MAX_MS } from '../../src/engine/domain/delivery.ts';
import type { Database } from '../../src/engine/store/database.ts';
import type { AuditedDelivery } from './delivery-auditor.ts';
import type { ReceivedPost } from './webhook-receiver.ts';

export interface OrderRules {
  /** No endpoint was paused, and nothing recorded before an upgrade: turns are judged, and not only numbers. */
  readonly isHeld?: boolean;
  /** Of each match, the numbers of what the feed alone carries: no endpoint wants it. */
  readonly feedNumbers?: ReadonlyMap<string, ReadonlySet<number>>;
  /** After this time from its start an attempt counts as aborted, whatever it says later. */
  readonly leaseMs?: number;
  /** The database was restored: numbers may go on far above. */
  readonly mayJump?: boolean;
}

/** Times of two processes of one machine, in whole milliseconds. */
const TOLERANCE_MS = 5;
/** By which a restored database goes on above what may have been told. */
const JUMP_MIN = 1_000_000;

/** What the feed alone carries: see `OrderRules`. */
export async function readFeedNumbers(
  database: Pick<Database, 'query'>,
): Promise<ReadonlyMap<string, ReadonlySet<number>>> {
  const { rows } = await database.query<{ match_id: string; numbers: number[] }>(
    'select match_id, array_agg(sequence) as numbers from feed_items group by match_id',
  );
  return new Map(rows.map(({ match_id, numbers }) => [match_id, new Set(numbers)]));
}

/** Every broken rule in words. `postsById`: of each delivery, as they came. */
export function auditOrder(
  deliveries: readonly AuditedDelivery[],
  postsById: ReadonlyMap<string, readonly ReceivedPost[]>,
  rules: OrderRules,
): string[] {
  const byMatch = new Map<string, AuditedDelivery[]>();
  for (const delivery of deliveries) {
    if (delivery.sequence === null) continue;
    byMatch.set(delivery.matchId, [...(byMatch.get(delivery.matchId) ?? []), delivery]);
  }
  return [
    ...deliveries.flatMap((delivery) => auditHeaders(delivery, postsById.get(delivery.id) ?? [])),
    ...auditNumbers([...postsById.values()].flat()),
    ...[...byMatch].flatMap(([match, unordered]) => {
      const ordered = unordered.toSorted((a, b) => numberOf(a) - numberOf(b));
      return [
        ...auditCounting(ordered, rules, rules.feedNumbers?.get(match)),
        ...auditTurns(ordered, postsById, rules),
      ].map((fault) => `match ${match}: ${fault}`);
    }),
  ];
}

/** A number of a match that came with different bytes: a receiver would have dropped one of them. */
export function auditNumbers(posts: readonly ReceivedPost[]): string[] {
  const told = new Map<string, ReceivedPost>();
  return posts.flatMap((post) => {
    const sequence = post.headers['vigie-sequence'];
    if (sequence === undefined) return [];
    const number = `${JSON.parse(post.body.toString()).match['@id']} ${sequence}`;
    const before = told.get(number) ?? post;
    told.set(number, before);
    return before.body.equals(post.body) ? [] : [`(g) ${number} was told of two different things`];
  });
}

function auditHeaders({ id, sequence }: AuditedDelivery, posts: readonly ReceivedPost[]): string[] {
  const expected = sequence === null ? undefined : String(sequence);
  const wrong = posts.filter(({ headers }) => headers['vigie-sequence'] !== expected);
  return wrong.map(
    ({ headers }) => `delivery ${id}: (g) a post is number ${headers['vigie-sequence']}, not ${expected}`,
  );
}

/** A cancelled delivery leaves a gap at the receiver, and has its row. */
function auditCounting(
  ordered: readonly AuditedDelivery[],
  { mayJump = false }: OrderRules,
  feedNumbers: ReadonlySet<number> = new Set(),
): string[] {
  return ordered.flatMap((delivery, position) => {
    const before = ordered[position - 1];
    const number = numberOf(delivery);
    let last = before === undefined ? 0 : numberOf(before);
    while (last + 1 < number && feedNumbers.has(last + 1)) last += 1;
    const faults: string[] = [];
    if (number !== last + 1 && !(mayJump && number > last && number > JUMP_MIN)) {
      faults.push(`(g) number ${number} follows ${last}`);
    }
    if (before !== undefined && delivery.id <= before.id) {
      faults.push(`(g) the id of number ${number} is not above ${numberOf(before)}'s`);
    }
    return faults;
  });
}

function auditTurns(
  ordered: readonly AuditedDelivery[],
  postsById: ReadonlyMap<string, readonly ReceivedPost[]>,
  { isHeld = false, leaseMs = Number.POSITIVE_INFINITY }: OrderRules,
): string[] {
  if (!isHeld) return [];
  const faults: string[] = [];
  for (const [position, later] of ordered.entries()) {
    const [start] = later.attempts;
    const [post] = postsById.get(later.id) ?? [];
    if (start === undefined) continue;
    for (const earlier of ordered.slice(0, position)) {
      const [first] = earlier.attempts;
      const [before] = postsById.get(earlier.id) ?? [];
      const waitedMs = start.startedAt - later.createdAt;
      const hasWaited = earlier.endpoint !== later.endpoint && waitedMs >= HELD_BACK_MAX_MS - TOLERANCE_MS;
      if (first === undefined || earlier.state === 'cancelled' || hasWaited) continue;
      const numbers = `number ${numberOf(later)}`;
      const endedAt = Math.min(first.endedAt, first.startedAt + leaseMs);
      if (start.startedAt < endedAt - TOLERANCE_MS) {
        faults.push(`(g) ${numbers} was claimed ${endedAt - start.startedAt} ms before ${numberOf(earlier)} had ended`);
      }
      if (post === undefined || before === undefined || first.statusCode === null || first.endedAt !== endedAt)
        continue;
      const answeredAt = before.answeredAt ?? before.receivedAt;
      if (post.receivedAt < answeredAt) {
        faults.push(`(g) ${numbers} came ${answeredAt - post.receivedAt} ms before ${numberOf(earlier)} was answered`);
      }
    }
  }
  return faults;
}

function numberOf({ sequence }: AuditedDelivery): number {
  return sequence as number;
}
