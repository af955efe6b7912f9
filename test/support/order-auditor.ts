/**
 * Checks the order of webhooks (decisions, section 6, "Order") from the receiver's posts and the rows. The first
 * attempt of a delivery begins after the first attempts of all earlier deliveries of its match have ended. It need not
 * wait for cancelled deliveries or, after `HELD_BACK_MAX_MS`, for those of the other endpoint.
 */

import { HELD_BACK_MAX_MS } from '../../src/engine/domain/delivery.ts';
import type { Database } from '../../src/engine/store/database.ts';
import type { ReceivedPost } from './webhook-receiver.ts';

export interface OrderRules {
  /**
   * True to check the times of first attempts too. Then no endpoint may have been paused, and no delivery recorded by
   * an earlier version.
   */
  readonly isHeld?: boolean;
  /** By match, the numbers that only the feed has, because no endpoint wants them. */
  readonly feedNumbers?: ReadonlyMap<string, ReadonlySet<number>>;
  /** An attempt that takes longer counts as aborted, even if it records an outcome later. */
  readonly leaseMs?: number;
  /** True if the database was restored or NATS lost messages, so that numbers may jump far above the previous ones. */
  readonly mayJump?: boolean;
  /** Set if no retry was due, so that only these recoveries may have sent a delivery again. */
  readonly recoveries?: readonly AuditedRecovery[];
}

export interface AuditedDelivery {
  readonly id: string;
  readonly searchId: string;
  readonly propertyUuid: string | null;
  readonly matchId: string;
  /** Null if recorded by a version without sequences. */
  readonly sequence: number | null;
  /** Milliseconds since the epoch on the recorder's clock, read from the delivery's id. */
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

/** From the request of the recovery to its end, in milliseconds since the epoch. */
export interface AuditedRecovery {
  readonly createdAt: number;
  readonly finishedAt: number;
}

/** Allows for clock readings of two processes on one machine, which are in whole milliseconds. */
const TOLERANCE_MS = 5;
/** After a restore, numbers continue at least this far above those that may have been sent. */
const JUMP_MIN = 1_000_000;

/** Numbers that only the feed has; see `OrderRules`. */
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

/** Describes every violation. `postsById`: the posts of each delivery in order of arrival. */
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

/** Finds numbers of a match that arrived with different bytes, because a receiver would drop one of them. */
export function auditNumbers(posts: readonly ReceivedPost[]): string[] {
  const told = new Map<string, ReceivedPost>();
  return posts.flatMap((post) => {
    const sequence = post.headers['vigie-sequence'];
    if (sequence === undefined) return [];
    const number = `${JSON.parse(post.body.toString()).match['@id']} ${sequence}`;
    const before = told.get(number) ?? post;
    told.set(number, before);
    return before.body.equals(post.body) ? [] : [`(g) ${number} was posted with two different bodies`];
  });
}

/** Finds a number that is so high that only a restore may cause it. */
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

/** A cancelled delivery leaves a gap at the receiver, but not in the rows. */
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

/** An attempt of a delivery, to be compared with an attempt of another delivery of the match. */
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
  // The sender froze between the claim and the first byte, which cannot be prevented. The attempt counts as aborted.
  if (earlier.post.receivedAt > earlier.attempt.startedAt + leaseMs) return faults;
  const answeredAt = earlier.post.answeredAt ?? earlier.post.receivedAt;
  if (later.post.receivedAt < answeredAt) {
    faults.push(`(g) ${number} arrived ${answeredAt - later.post.receivedAt} ms before ${before} was answered`);
  }
  return faults;
}

/** A recovery sends a delivery at most once, and those of a match in order, independently of first attempts. */
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
    if (later.recovery === undefined) return [`(g) ${number} was sent again, but not by a recovery`];
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
