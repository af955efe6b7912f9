/**
 * Compares the posts that endpoints received with the expected deliveries and with the recorded rows, by these rules of
 * decisions, section 6:
 * (a) Every expected delivery exists once and has ended, and no other exists.
 * (b) Nothing is posted after an attempt that was recorded with status 200.
 * (c) A delivery has at most six attempts. Each attempt is posted once, or twice if its kept connection broke before a
 *     byte of the answer arrived, which the attempt's log states.
 * (d) An attempt starts at least the retry delay after the end of the previous one, by the clocks of the service and of
 *     the receiver.
 * (e) Every signature verifies, with the token of the delivery's search.
 * (f) Every attempt sends the bytes recorded at the change.
 * (g) Deliveries of a match are numbered from 1, and their first attempts keep that order (order-auditor.ts).
 */

import { Webhook } from 'standardwebhooks';
import type { Database } from '../../src/engine/store/database.ts';
import { type AuditedDelivery, auditOrder, type OrderRules } from './order-auditor.ts';
import type { ReceivedPost } from './webhook-receiver.ts';

export interface Audit {
  readonly database: Pick<Database, 'query'>;
  readonly posts: readonly ReceivedPost[];
  readonly retryDelayMs: number;
  /** Keys (`keyOf`) of the deliveries that the input should cause. A key may occur more than once. */
  readonly expected: readonly string[];
  readonly keyOf: (delivery: AuditedDelivery) => string;
  /** True if the test cancels deliveries: `cancelled` is then a valid final state, like `delivered` and `failed`. */
  readonly mayBeCancelled?: boolean;
  /** Further rules of order; their lease is that of `freezes`. */
  readonly order?: Omit<OrderRules, 'leaseMs'>;
  /** Set if senders may freeze. Another courier may then make the next attempt before a frozen attempt is recorded. */
  readonly freezes?: {
    /** When a watcher first read the status 200 of each delivery in the rows, in milliseconds since the epoch. */
    readonly seenDelivered: ReadonlyMap<string, number>;
    /** An attempt that takes longer counts as aborted at its start, even if it records an outcome later. */
    readonly leaseMs: number;
  };
}

const ATTEMPTS_MAX = 6;
/** Sender and receiver use the same clock, but the receiver reads it after the kernel has received the bytes. */
const CLOCK_TOLERANCE_MS = 5;
/** Standard Webhooks 1.0: a receiver refuses a message that is further from its timestamp. */
const TIMESTAMP_TOLERANCE_S = 300;

/** Describes every violation; empty if all rules are met. */
export async function auditDeliveries(audit: Audit): Promise<readonly string[]> {
  const deliveries = await readDeliveries(audit.database);
  const postsById = new Map<string, ReceivedPost[]>();
  for (const post of audit.posts) postsById.set(post.id, [...(postsById.get(post.id) ?? []), post]);
  const known = new Set(deliveries.map(({ id }) => id));
  return [
    ...compareWithExpected(deliveries, audit),
    ...[...postsById.keys()].filter((id) => !known.has(id)).map((id) => `a post carries the unknown id "${id}"`),
    ...deliveries.flatMap((delivery) =>
      auditOne(delivery, postsById.get(delivery.id) ?? [], audit).map((fault) => `delivery ${delivery.id}: ${fault}`),
    ),
    ...auditOrder(deliveries, postsById, {
      ...audit.order,
      ...(audit.freezes === undefined ? {} : { leaseMs: audit.freezes.leaseMs }),
    }),
  ];
}

function compareWithExpected(deliveries: readonly AuditedDelivery[], { expected, keyOf }: Audit): string[] {
  const balance = new Map<string, number>();
  for (const key of expected) balance.set(key, (balance.get(key) ?? 0) + 1);
  for (const delivery of deliveries) balance.set(keyOf(delivery), (balance.get(keyOf(delivery)) ?? 0) - 1);
  return [...balance].flatMap(([key, missing]) => {
    if (missing > 0) return [`${missing} expected deliveries of "${key}" do not exist`];
    return missing < 0 ? [`${-missing} of "${key}" exist beyond the expected ones`] : [];
  });
}

function auditOne(delivery: AuditedDelivery, received: readonly ReceivedPost[], audit: Audit): string[] {
  const posts = withoutTriedAgain(received);
  return [
    ...auditEnd(delivery, posts, audit.mayBeCancelled === true),
    ...(audit.freezes === undefined
      ? auditSuccess(delivery, posts)
      : auditSeenSuccess(delivery, audit.freezes.seenDelivered)),
    ...auditCount(delivery, posts),
    ...auditTriedAgain(delivery, received, posts),
    ...auditGaps(delivery, posts, audit),
    ...auditContent(delivery, posts),
  ];
}

/**
 * If an attempt was posted twice, with the same timestamp, only the second post is kept. A third post is a violation.
 */
function withoutTriedAgain(received: readonly ReceivedPost[]): readonly ReceivedPost[] {
  let isSecondTry = false;
  return received.filter((post, position) => {
    const next = received[position + 1];
    const isOneAttempt = next?.headers['webhook-timestamp'] === post.headers['webhook-timestamp'];
    const isTriedAgain = !isSecondTry && post.isAbandoned === true && isOneAttempt;
    isSecondTry = isTriedAgain;
    return !isTriedAgain;
  });
}

function auditEnd(
  { state, attempts }: AuditedDelivery,
  posts: readonly ReceivedPost[],
  mayBeCancelled: boolean,
): string[] {
  const faults: string[] = [];
  if (!['delivered', 'failed', ...(mayBeCancelled ? ['cancelled'] : [])].includes(state))
    faults.push(`(a) it is ${state}`);
  if (state === 'delivered' && !posts.some(({ status }) => status === 200)) {
    faults.push('(a) it is delivered, but the receiver never answered 200');
  }
  if (state === 'delivered' && !attempts.some(({ statusCode }) => statusCode === 200)) {
    faults.push('(a) it is delivered, but no attempt has the status 200');
  }
  if (state === 'failed' && attempts.length !== ATTEMPTS_MAX)
    faults.push(`(a) it failed after ${attempts.length} attempts`);
  return faults;
}

/**
 * A busy receiver may read a post late, so the header `webhook-timestamp` counts as the start of its attempt. Rule (c)
 * finds surplus posts.
 */
function auditSuccess({ attempts }: AuditedDelivery, posts: readonly ReceivedPost[]): string[] {
  const success = attempts.find(({ statusCode }) => statusCode === 200);
  if (success === undefined) return [];
  const faults: string[] = [];
  if (attempts.at(-1) !== success) faults.push('(b) another attempt follows the one recorded with 200');
  const late = posts.filter((post) => timestampOf(post) * 1_000 > success.endedAt);
  if (late.length > 0) faults.push(`(b) ${late.length} posts arrived after the attempt recorded with 200`);
  return faults;
}

/** Compares only attempts, because rule (c) finds posts that belong to no attempt. */
function auditSeenSuccess({ id, attempts }: AuditedDelivery, seenDelivered: ReadonlyMap<string, number>): string[] {
  const seenAt = seenDelivered.get(id) ?? Number.POSITIVE_INFINITY;
  const late = attempts.filter(({ startedAt }) => startedAt > seenAt);
  return late.map(({ number }) => `(b) attempt ${number} started after the status 200 could be read`);
}

function auditCount({ attempts, attemptCount }: AuditedDelivery, posts: readonly ReceivedPost[]): string[] {
  const faults: string[] = [];
  if (posts.length > ATTEMPTS_MAX) faults.push(`(c) it was posted ${posts.length} times`);
  if (posts.length > attemptCount) faults.push(`(c) it was posted ${posts.length} times in ${attemptCount} attempts`);
  if (attempts.length !== attemptCount) faults.push(`(c) ${attempts.length} of ${attemptCount} attempts are logged`);
  if (attempts.some(({ number }, position) => number !== position + 1))
    faults.push('(c) the attempts are not numbered from 1 without gaps');
  return faults;
}

/** Posts of an attempt without a recorded outcome cannot be checked. */
function auditTriedAgain(
  { attempts }: AuditedDelivery,
  received: readonly ReceivedPost[],
  posts: readonly ReceivedPost[],
): string[] {
  return received
    .filter((post) => !posts.includes(post))
    .filter((post) => {
      const ofItsSecond = attempts.filter(({ startedAt }) => Math.floor(startedAt / 1_000) === timestampOf(post));
      return !ofItsSecond.some(({ error, reason }) => error === 'aborted' || reason?.includes('posted again'));
    })
    .map((post) => `(c) its second post of ${timestampOf(post)} is not in the log`);
}

/**
 * If an attempt died with its process, its start counts as its end. A post may wait unread in the kernel until its
 * attempt has timed out, so the receiver's clock counts only for answered attempts. An unanswered attempt may have made
 * no post, or two with the same timestamp.
 */
function auditGaps(
  { attempts }: AuditedDelivery,
  posts: readonly ReceivedPost[],
  { retryDelayMs, freezes }: Pick<Audit, 'retryDelayMs' | 'freezes'>,
): string[] {
  const faults: string[] = [];
  for (const [position, next] of attempts.entries()) {
    const before = attempts[position - 1];
    if (before === undefined || next.startedAt - before.startedAt >= (freezes?.leaseMs ?? Number.POSITIVE_INFINITY)) {
      continue;
    }
    if (next.startedAt - before.endedAt < retryDelayMs) {
      faults.push(
        `(d) attempt ${next.number} was claimed ${next.startedAt - before.endedAt} ms after the previous one ended`,
      );
    }
  }
  const wereAllAnswered = attempts.every(({ statusCode }) => statusCode !== null);
  for (const [position, next] of posts.entries()) {
    const before = posts[position - 1];
    const wasAnswered = posts.length === attempts.length && attempts[position - 1]?.statusCode !== null;
    if (before === undefined || !wasAnswered) continue;
    if (!wereAllAnswered && timestampOf(next) === timestampOf(before)) continue;
    const gapMs = next.receivedAt - before.receivedAt;
    if (gapMs < retryDelayMs - CLOCK_TOLERANCE_MS) {
      const all = JSON.stringify({ attempts, posts: posts.map((post) => ({ ...post, body: undefined })) });
      faults.push(`(d) post ${position + 1} arrived ${gapMs} ms after the previous one: ${all}`);
    }
  }
  return faults;
}

function timestampOf({ headers }: ReceivedPost): number {
  return Number(headers['webhook-timestamp']);
}

function auditContent({ body, token }: AuditedDelivery, posts: readonly ReceivedPost[]): string[] {
  const bytes = Buffer.from(body);
  const faults: string[] = [];
  for (const [position, post] of posts.entries()) {
    if (!post.body.equals(bytes)) faults.push(`(f) post ${position + 1} differs from what was recorded`);
    try {
      verify(post, token);
    } catch (error) {
      faults.push(`(e) post ${position + 1}: ${(error as Error).message}`);
    }
  }
  return faults;
}

/** The library's own check refuses posts that are older than five minutes, and posts are audited later. */
function verify(post: ReceivedPost, token: string): void {
  const { body, headers, receivedAt } = post;
  const webhook = new Webhook(token);
  const sentAt = timestampOf(post);
  if (Math.abs(receivedAt / 1_000 - sentAt) > TIMESTAMP_TOLERANCE_S)
    throw new Error(`it arrived ${receivedAt / 1_000 - sentAt} s after its timestamp`);
  const signature = webhook.sign(headers['webhook-id'] ?? '', new Date(sentAt * 1_000), body.toString());
  if (signature !== headers['webhook-signature']) throw new Error('the signature does not verify');
}

async function readDeliveries(database: Pick<Database, 'query'>): Promise<readonly AuditedDelivery[]> {
  const { rows } = await database.query<AuditedDelivery>(`
    select d.id, s.id as "searchId", m.property_uuid as "propertyUuid", d.match_id as "matchId", d.sequence,
      ('x' || left(translate(d.id::text, '-', ''), 12))::bit(48)::bigint::float8 as "createdAt", d.channel, d.kind,
      d.endpoint, d.state, d.attempt_count::integer as "attemptCount", d.head || document || '}}' as body, s.token,
      coalesce(logged.attempts, '[]') as attempts
    from delivery_states d
    join searches s on s.number = d.search_number
    join snapshots on snapshots.id = d.snapshot_id
    left join matches m on m.id = d.match_id
    left join lateral (
      select json_agg(json_build_object('number', number,
        'startedAt', extract(epoch from started_at) * 1000,
        'endedAt', extract(epoch from started_at) * 1000 + coalesce(duration_ms, 0),
        'statusCode', status_code, 'error', error, 'reason', reason) order by number) as attempts
      from attempts where delivery_id = d.id
    ) logged on true
    order by d.id`);
  return rows;
}
