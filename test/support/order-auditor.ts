/**
 * The order of webhooks (decisions, section 6, "Order"), judged by what the receiver saw and what the rows say. Of two
 * deliveries of one match the later one begins once the first attempt of the earlier one has ended, unless that one was
 * cancelled before, or belongs to another endpoint and has been waited for long enough.
 */

import { HELD_BACK_MAX_MS } from '../../src/engine/domain/delivery.ts';
import type { Database } from '../../src/engine/store/database.ts';
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
  /** Where these alone sent again, because no retry has become due. */
  readonly recoveries?: readonly AuditedRecovery[];
}

export interface AuditedDelivery {
  readonly id: string;
  readonly searchId: string;
  readonly propertyUuid: string | null;
  readonly matchId: string;
  /** Null: recorded by a version without. */
  readonly sequence: number | null;
  /** Milliseconds since the epoch, by the recorder's clock, which its id carries. */
  readonly createdAt: number;
  readonly channel: string;
  readonly kind: string;
  readonly endpoint: string;
  readonly state: string;
  readonly attemptCount: number;
  readonly body: string;
  readonly token: string;
  readonly attempts: readonly AuditedAttempt[];
}

export interface AuditedAttempt {
  readonly number: number;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly statusCode: number | null;
  readonly error: string | null;
  readonly reason: string | null;
}

/** From its request to its end, in milliseconds since the epoch. */
export interface AuditedRecovery {
  readonly createdAt: number;
  readonly finishedAt: number;
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

export async function readRecoveries(database: Pick<Database, 'query'>): Promise<readonly AuditedRecovery[]> {
  const { rows } = await database.query<AuditedRecovery>(
    `select extract(epoch from created_at)::float8 * 1000 as "createdAt",
       extract(epoch from finished_at)::float8 * 1000 as "finishedAt"
     from recoveries where state = 'finished' order by created_at`,
  );
  return rows;
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
        ...auditRecovered(ordered, postsById, rules),
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

/** Before anything was restored no number goes on far above. */
export function auditUnrestored(posts: readonly ReceivedPost[]): string[] {
  const above = posts.find(({ headers }) => Number(headers['vigie-sequence'] ?? 0) > JUMP_MIN);
  return above === undefined
    ? []
    : [`(g) delivery ${above.id}: number ${above.headers['vigie-sequence']} though nothing was restored`];
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
  const turns = ordered.flatMap((delivery) => {
    const [attempt] = delivery.attempts;
    return attempt === undefined ? [] : [{ delivery, attempt, post: postsById.get(delivery.id)?.[0] }];
  });
  return turns.flatMap((later, position) =>
    turns.slice(0, position).flatMap((earlier) => {
      const waitedMs = later.attempt.startedAt - later.delivery.createdAt;
      const hasWaited =
        earlier.delivery.endpoint !== later.delivery.endpoint && waitedMs >= HELD_BACK_MAX_MS - TOLERANCE_MS;
      return earlier.delivery.state === 'cancelled' || hasWaited ? [] : auditTurn(earlier, later, leaseMs);
    }),
  );
}

/** Attempts of two deliveries of a match. */
interface TurnTaken {
  readonly delivery: AuditedDelivery;
  readonly attempt: AuditedAttempt;
  readonly post: ReceivedPost | undefined;
}

function auditTurn(earlier: TurnTaken, later: TurnTaken, leaseMs: number): string[] {
  const faults: string[] = [];
  const number = `number ${numberOf(later.delivery)}`;
  const before = numberOf(earlier.delivery);
  const endedAt = Math.min(earlier.attempt.endedAt, earlier.attempt.startedAt + leaseMs);
  if (later.attempt.startedAt < endedAt - TOLERANCE_MS) {
    faults.push(`(g) ${number} was claimed ${endedAt - later.attempt.startedAt} ms before ${before} had ended`);
  }
  const wasAnswered = earlier.attempt.statusCode !== null && earlier.attempt.endedAt === endedAt;
  if (later.post === undefined || earlier.post === undefined || !wasAnswered) return faults;
  // Its sender froze between the claim and the first byte, which nothing can prevent: it counts as aborted all the same.
  if (earlier.post.receivedAt > earlier.attempt.startedAt + leaseMs) return faults;
  const answeredAt = earlier.post.answeredAt ?? earlier.post.receivedAt;
  if (later.post.receivedAt < answeredAt) {
    faults.push(`(g) ${number} came ${answeredAt - later.post.receivedAt} ms before ${before} was answered`);
  }
  return faults;
}

/** Each recovery sends a delivery once, and those of a match in the order of their numbers, whatever first attempts do. */
function auditRecovered(
  ordered: readonly AuditedDelivery[],
  postsById: ReadonlyMap<string, readonly ReceivedPost[]>,
  { recoveries, leaseMs = Number.POSITIVE_INFINITY }: OrderRules,
): string[] {
  if (recoveries === undefined) return [];
  const again = ordered.flatMap((delivery) =>
    delivery.attempts.slice(1).map((attempt) => {
      const second = String(Math.floor(attempt.startedAt / 1_000));
      const post = postsById
        .get(delivery.id)
        ?.find(
          (one) => one.headers['webhook-timestamp'] === second && one.receivedAt > attempt.startedAt - TOLERANCE_MS,
        );
      const recovery = recoveries.find(
        ({ createdAt, finishedAt }) =>
          attempt.startedAt >= createdAt - TOLERANCE_MS && attempt.startedAt <= finishedAt + TOLERANCE_MS,
      );
      return { delivery, attempt, post, recovery };
    }),
  );
  return again.flatMap((later, position) => {
    const number = `number ${numberOf(later.delivery)}`;
    if (later.recovery === undefined) return [`(g) ${number} was sent again, and no recovery asked for that`];
    const earlier = again.slice(0, position).filter(({ recovery }) => recovery === later.recovery);
    return earlier.flatMap((one) =>
      one.delivery === later.delivery
        ? [`(g) a recovery sent ${number} twice`]
        : auditTurn(one, later, leaseMs).map((fault) => `${fault} (recovered)`),
    );
  });
}

function numberOf({ sequence }: AuditedDelivery): number {
  return sequence as number;
}
