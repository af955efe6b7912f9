/** The auditor of deliveries finds violations of each rule, because a check that cannot fail proves nothing. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signatureHeaders } from '../src/engine/delivery/signature.ts';
import { type Audit, auditDeliveries } from './support/delivery-auditor.ts';
import type { AuditedDelivery } from './support/order-auditor.ts';
import { auditOrder } from './support/order-auditor.ts';
import type { ReceivedPost } from './support/webhook-receiver.ts';

const TOKEN = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
const DELAY_MS = 3_600_000;
const START = Date.UTC(2026, 2, 10, 8);
const BODY = '{"event":"ad.update.price"}';

interface Told {
  readonly status: number | null;
  readonly gapMs?: number;
}

/** A delivery whose attempts got these answers, each one delay after the previous one by default, with its posts. */
function history(told: readonly Told[], state: string): { delivery: AuditedDelivery; posts: ReceivedPost[] } {
  const posts: ReceivedPost[] = [];
  let at = START;
  const attempts = told.map(({ status, gapMs = DELAY_MS }, position) => {
    if (position > 0) at += gapMs;
    const headers = signatureHeaders('d1', new Date(at), BODY, TOKEN);
    const body = Buffer.from(BODY);
    posts.push({ path: '/', id: 'd1', headers, body, receivedAt: at + 2, answeredAt: at + 9, status });
    const [error, reason] = [null, null];
    const attempt = { number: position + 1, startedAt: at, endedAt: at + 10, statusCode: status, error, reason };
    at += 10;
    return attempt;
  });
  const delivery: AuditedDelivery = {
    ...{ id: 'd1', searchId: 's1', propertyUuid: 'p1', matchId: 'm1', channel: 'event', kind: 'ad.update.price' },
    ...{ sequence: null, createdAt: START - 50 },
    ...{ endpoint: 'https://e.test/', state, attemptCount: told.length, body: BODY, token: TOKEN, attempts },
  };
  return { delivery, posts };
}

async function audit(
  delivery: AuditedDelivery,
  posts: readonly ReceivedPost[],
  expected = ['d1'],
  freezes?: Audit['freezes'],
): Promise<string> {
  const database = { query: async () => ({ rows: [delivery] }) } as unknown as Audit['database'];
  const keyOf = ({ id }: AuditedDelivery): string => id;
  const rules = { database, posts, retryDelayMs: DELAY_MS, expected, keyOf };
  return (await auditDeliveries(freezes === undefined ? rules : { ...rules, freezes })).join('\n');
}

const OK: Told = { status: 200 };
const BAD: Told = { status: 500 };

test('a delivery that follows the rules passes', async () => {
  const delivered = history([BAD, BAD, OK], 'delivered');
  assert.equal(await audit(delivered.delivery, delivered.posts), '');
  const failed = history([BAD, BAD, BAD, BAD, BAD, BAD], 'failed');
  assert.equal(await audit(failed.delivery, failed.posts), '');
});

test('(a) a delivery that is missing, extra, open, or ended without the attempts that explain this is found', async () => {
  const { delivery, posts } = history([OK], 'delivered');
  assert.match(await audit(delivery, posts, ['d1', 'd2']), /1 expected deliveries of "d2" do not exist/);
  assert.match(await audit(delivery, posts, []), /1 of "d1" exist beyond the expected ones/);
  assert.match(await audit({ ...delivery, state: 'retry_wait' }, posts), /\(a\) it is retry_wait/);
  assert.match(await audit(delivery, []), /\(a\) .* never answered 200/);
  assert.match(await audit({ ...history([BAD], 'failed').delivery }, []), /\(a\) it failed after 1 attempts/);
  assert.match(await audit(delivery, [...posts, { ...(posts[0] as ReceivedPost), id: 'x' }]), /unknown id "x"/);
});

test('(b) a post or an attempt after a recorded 200 is found', async () => {
  const { delivery, posts } = history([OK, BAD], 'delivered');
  const faults = await audit(delivery, posts);
  assert.match(faults, /\(b\) another attempt follows/);
  assert.match(faults, /\(b\) 1 posts arrived after/);
});

test('(b) if senders freeze, an attempt after the 200 could be read is surplus', async () => {
  const { delivery, posts } = history([OK, OK], 'delivered');
  const [, second] = delivery.attempts as [unknown, { readonly startedAt: number }];
  const seenAt = (time: number) => ({ seenDelivered: new Map([['d1', time]]), leaseMs: DELAY_MS });
  assert.equal(await audit(delivery, posts, ['d1'], seenAt(second.startedAt + 1)), '');
  assert.match(await audit(delivery, posts, ['d1'], seenAt(second.startedAt - 1)), /\(b\) attempt 2 started after/);
});

test('(d) if senders freeze, an attempt counts from its start once its lease has ended', async () => {
  const { delivery, posts } = history([{ status: null }, { status: 200, gapMs: DELAY_MS - 20 }], 'delivered');
  const lease = (leaseMs: number) => ({ seenDelivered: new Map<string, number>(), leaseMs });
  assert.equal(await audit(delivery, posts, ['d1'], lease(DELAY_MS / 2)), '');
  assert.match(await audit(delivery, posts, ['d1'], lease(DELAY_MS)), /\(d\) attempt 2 was claimed/);
});

test('(c) a seventh post, and a post without an attempt, are found', async () => {
  const seven = history([BAD, BAD, BAD, BAD, BAD, BAD, BAD], 'failed');
  assert.match(await audit(seven.delivery, seven.posts), /\(c\) it was posted 7 times/);
  const { delivery, posts } = history([OK], 'delivered');
  assert.match(await audit(delivery, [...posts, ...posts]), /\(c\) it was posted 2 times in 1 attempts/);
  assert.match(await audit({ ...delivery, attemptCount: 2 }, posts), /\(c\) 1 of 2 attempts are logged/);
});

test('(c) a second try of an attempt needs a connection that broke before the answer, and is the last', async () => {
  const { delivery, posts } = history([OK], 'delivered');
  const [second] = posts as [ReceivedPost];
  const first = { ...second, receivedAt: second.receivedAt - 1, isAbandoned: true };
  const [attempt] = delivery.attempts as [AuditedDelivery['attempts'][number]];
  const reason = 'posted again after 3 ms: the kept connection broke without an answer';
  const told = { ...delivery, attempts: [{ ...attempt, reason }] };
  assert.equal(await audit(told, [first, second]), '', 'regardless of the status that the receiver recorded');
  assert.match(await audit(delivery, [first, second]), /\(c\) its second post of \d+ is not in the log/);
  assert.match(await audit(delivery, [second, second]), /\(c\) it was posted 2 times in 1 attempts/);
  assert.match(await audit(delivery, [second, first]), /\(c\) it was posted 2 times in 1 attempts/);
  assert.match(await audit(delivery, [first, first, second]), /\(c\) it was posted 2 times in 1 attempts/);
  const later = { ...second, headers: signatureHeaders('d1', new Date(START + 1_000), BODY, TOKEN) };
  assert.match(await audit(delivery, [first, later]), /\(c\) it was posted 2 times in 1 attempts/);
});

test('(d) a retry before its time is found, by the clock of the service and of the receiver', async () => {
  const { delivery, posts } = history([BAD, { status: 200, gapMs: DELAY_MS - 20 }], 'delivered');
  const faults = await audit(delivery, posts);
  assert.match(faults, /\(d\) attempt 2 was claimed/);
  assert.match(faults, /\(d\) post 2 arrived/);
});

test('(d) two posts of one attempt are not a retry, but two posts of the same second are if every attempt was answered', async () => {
  const { delivery, posts } = history([BAD, BAD, { status: null }, OK], 'delivered');
  const [first, second, , last] = posts as [ReceivedPost, ReceivedPost, ReceivedPost, ReceivedPost];
  const again = { ...second, receivedAt: second.receivedAt + 500 };
  assert.equal(await audit(delivery, [first, second, again, last]), '');
  const signedLater = { ...again, headers: signatureHeaders('d1', new Date(again.receivedAt + 1_000), BODY, TOKEN) };
  assert.match(await audit(delivery, [first, second, signedLater, last]), /\(d\) post 3 arrived 500 ms/);
  const answered = history([BAD, BAD, BAD, OK], 'delivered').delivery;
  assert.match(await audit(answered, [first, second, again, last]), /\(d\) post 3 arrived 500 ms/);
});

test('(e) a signature by another key, or of another time, is found', async () => {
  const { delivery, posts } = history([OK], 'delivered');
  assert.match(
    await audit({ ...delivery, token: `whsec_${Buffer.alloc(32).toString('base64')}` }, posts),
    /\(e\) post 1/,
  );
  const [post] = posts as [ReceivedPost];
  assert.match(await audit(delivery, [{ ...post, receivedAt: post.receivedAt + 360_000 }]), /\(e\) post 1: it arrived/);
});

test('(f) different bytes on a retry are found', async () => {
  const { delivery, posts } = history([BAD, OK], 'delivered');
  const [first, second] = posts as [ReceivedPost, ReceivedPost];
  assert.match(await audit(delivery, [first, { ...second, body: Buffer.from('{}') }]), /\(f\) post 2 differs/);
});

/** Deliveries of one match, each with one attempt answered 200 that began `startedMs` after `START`. */
function match(
  ...told: readonly (Partial<AuditedDelivery> & { readonly sequence: number; readonly startedMs: number })[]
) {
  const postsById = new Map<string, ReceivedPost[]>();
  const deliveries = told.map(({ startedMs, ...over }) => {
    const id = `d${over.sequence}`;
    const body = JSON.stringify({ match: { '@id': '/matches/m1' }, number: over.sequence });
    const { delivery, posts } = history([OK], 'delivered');
    const [attempt] = delivery.attempts as [AuditedDelivery['attempts'][number]];
    const attempts = [{ ...attempt, startedAt: START + startedMs, endedAt: START + startedMs + 10 }];
    const headers = { 'vigie-sequence': String(over.sequence) };
    postsById.set(
      id,
      posts.map((post) => ({
        ...post,
        ...{ id, headers, body: Buffer.from(body) },
        ...{ receivedAt: START + startedMs + 2, answeredAt: START + startedMs + 9 },
      })),
    );
    return { ...delivery, id, body, attempts, createdAt: START, ...over };
  });
  return { deliveries, postsById };
}

test('(g) first attempts out of order, and before the previous one was answered, are found', () => {
  const judge = ({ deliveries, postsById }: ReturnType<typeof match>): string =>
    auditOrder(deliveries, postsById, { isHeld: true }).join('\n');
  assert.equal(judge(match({ sequence: 1, startedMs: 0 }, { sequence: 2, startedMs: 20 })), '');
  const early = match({ sequence: 1, startedMs: 20 }, { sequence: 2, startedMs: 0 });
  assert.match(judge(early), /number 2 was claimed 30 ms before 1 had ended/);
  assert.match(judge(early), /number 2 arrived 27 ms before 1 was answered/);
  const other = { endpoint: 'https://other.test/' };
  const late = match({ sequence: 1, startedMs: 28_020 }, { sequence: 2, startedMs: 28_000, ...other });
  assert.equal(judge(late), '', 'it has waited long enough for another endpoint');
  assert.match(judge(match({ sequence: 1, startedMs: 28_020 }, { sequence: 2, startedMs: 28_000 })), /2 arrived/);
  const cancelled = { state: 'cancelled' };
  assert.equal(judge(match({ sequence: 1, startedMs: 20, ...cancelled }, { sequence: 2, startedMs: 0 })), '');
  const frozen = match({ sequence: 1, startedMs: 0 }, { sequence: 2, startedMs: 20_000 });
  const [post] = frozen.postsById.get('d1') as [ReceivedPost];
  frozen.postsById.set('d1', [{ ...post, receivedAt: START + 20_100, answeredAt: START + 20_107 }]);
  assert.match(judge(frozen), /number 2 arrived 105 ms before 1 was answered/);
  assert.equal(
    auditOrder(frozen.deliveries, frozen.postsById, { isHeld: true, leaseMs: 16_000 }).join(),
    '',
    'its lease had ended',
  );
});

test('(g) deliveries that recoveries send out of order, twice or without a request are found, and live ones are ordered separately', () => {
  const first = { sequence: 1, startedMs: 0 };
  const second = { sequence: 2, startedMs: 20 };
  const third = { sequence: 3, startedMs: 1_000 };
  const recoveries = [
    { createdAt: START + 990, finishedAt: START + 1_990 },
    { createdAt: START + 2_990, finishedAt: START + 3_990 },
  ];
  /** Audits the deliveries with further attempts, which began `againMs` after `START`. */
  const judge = (...againMs: readonly (readonly number[])[]): string => {
    const { deliveries, postsById } = match(first, second, third);
    const resent = deliveries.map((delivery, at) => {
      const starts = (againMs[at] ?? []).map((ms) => START + ms);
      const [attempt] = delivery.attempts;
      const [post] = postsById.get(delivery.id) as [ReceivedPost];
      const posts = starts.map((startedAt) => ({
        ...{ ...post, receivedAt: startedAt + 2, answeredAt: startedAt + 9 },
        headers: { ...post.headers, 'webhook-timestamp': String(Math.floor(startedAt / 1_000)) },
      }));
      postsById.set(delivery.id, [post, ...posts]);
      const again = starts.map((startedAt) => ({ ...attempt, number: 2, startedAt, endedAt: startedAt + 10 }));
      return { ...delivery, attempts: [...delivery.attempts, ...again] } as AuditedDelivery;
    });
    return auditOrder(resent, postsById, { isHeld: true, recoveries }).join('\n');
  };
  assert.equal(judge([1_000], [1_020]), '', 'while number 3 is sent for the first time');
  assert.equal(judge([3_000], [1_000]), '', 'two recoveries send them');
  assert.match(judge([1_020], [1_000]), /number 2 was claimed 30 ms before 1 had ended \(recovered\)/);
  assert.match(judge([1_005], [1_000]), /number 2 arrived 12 ms before 1 was answered \(recovered\)/);
  assert.match(judge([1_000, 1_020]), /a recovery sent number 1 twice/);
  assert.match(judge([2_500]), /number 1 was sent again, but not by a recovery/);
});

test('(g) numbers with gaps or duplicates, numbers other than the header’s, and ids that do not ascend are found', () => {
  const judge = ({ deliveries, postsById }: ReturnType<typeof match>, mayJump = false): string =>
    auditOrder(deliveries, postsById, { mayJump }).join('\n');
  const gap = match({ sequence: 1, startedMs: 0 }, { sequence: 3, startedMs: 20 });
  assert.match(judge(gap), /number 3 follows 1/);
  assert.match(judge(gap, true), /number 3 follows 1/);
  const carried = (number: number): string =>
    auditOrder(gap.deliveries, gap.postsById, { feedNumbers: new Map([['m1', new Set([number])]]) }).join('\n');
  assert.equal(carried(2), '', 'number 2 is only in the feed');
  assert.match(carried(4), /number 3 follows 1/);
  const jump = match({ sequence: 1, startedMs: 0 }, { sequence: 1_000_002, startedMs: 20 });
  assert.match(judge(jump), /number 1000002 follows 1/);
  assert.equal(judge(jump, true), '');
  const [first, second] = match({ sequence: 1, startedMs: 0 }, { sequence: 2, startedMs: 20 }).deliveries;
  const swapped = [first, { ...second, id: 'd0' }] as AuditedDelivery[];
  assert.match(auditOrder(swapped, new Map(), {}).join(), /the id of number 2 is not above 1's/);
  const { deliveries, postsById } = match({ sequence: 1, startedMs: 0 });
  const [post] = postsById.get('d1') as [ReceivedPost];
  const wrong = new Map([['d1', [{ ...post, headers: { 'vigie-sequence': '2' } }]]]);
  assert.match(auditOrder(deliveries, wrong, {}).join(), /a post is number 2, not 1/);
  const doubled = new Map([['d1', [post, { ...post, body: Buffer.from('{"match":{"@id":"/matches/m1"}}') }]]]);
  assert.match(auditOrder(deliveries, doubled, {}).join(), /m1 1 was posted with two different bodies/);
});
