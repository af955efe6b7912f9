/**
 * The life of a delivery in a hostile world: messages are lost, early, late and doubled, and couriers crash between any
 * two of their steps. Random histories are played on the pure steps of domain/delivery.ts; whatever happens, the rules
 * of decisions, section 6, hold, and once the trouble is over the delivery ends.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  ATTEMPTS_MAX,
  type AttemptError,
  abort,
  cancel,
  claim,
  type DeliveryProgress,
  end,
  isFinal,
  NEW_DELIVERY,
  park,
  replay,
} from '../src/domain/delivery.ts';

const DELAY_MS = 3_600_000;
const LEASE_MS = 30_000;

/** What a courier has done of an attempt so far; a crash forgets it. */
interface Courier {
  readonly number: number;
  step: 'claimed' | 'sent' | 'recorded';
  readonly claimedAt: number;
  endedAt: number;
  error: AttemptError | null;
}

interface Post {
  readonly number: number;
  readonly at: number;
}

type Step =
  | { readonly type: 'message' | 'draw' | 'park' | 'sweep' | 'cancel' | 'lose' | 'double' }
  | { readonly type: 'wait'; readonly ms: number }
  | {
      readonly type: 'send' | 'record' | 'settle' | 'crash';
      readonly who: number;
      readonly error: AttemptError | null;
    };

class World {
  now = 0;
  row: DeliveryProgress = { ...NEW_DELIVERY, dueAt: 0 };
  messages = 1;
  couriers: Courier[] = [];
  readonly posts: Post[] = [];
  /** The end of each attempt as recorded; an aborted one ends where it started. */
  readonly ends = new Map<number, { readonly at: number; readonly error: AttemptError | null }>();
  /** Attempts counted when 200 was recorded. */
  attemptsAtSuccess: number | null = null;

  play(step: Step): void {
    switch (step.type) {
      case 'wait':
        this.now += step.ms;
        return;
      case 'lose':
        this.messages = Math.max(0, this.messages - 1);
        return;
      case 'double':
        this.messages += 1;
        return;
      case 'message':
        if (this.messages > 0) this.take(claim(this.row, 'message', this.now, LEASE_MS));
        return;
      case 'draw':
        return this.take(claim(this.row, 'parked', this.now, LEASE_MS));
      case 'park':
        this.row = park(this.row) ?? this.row;
        return;
      case 'cancel':
        this.row = cancel(this.row) ?? this.row;
        return;
      case 'sweep':
        return this.sweep();
      case 'send':
      case 'record':
      case 'settle':
      case 'crash':
        return this.goOn(step.type, step.who, step.error);
    }
  }

  take(claimed: DeliveryProgress | null): void {
    if (claimed === null) return;
    this.row = claimed;
    const { attemptCount: number } = claimed;
    this.couriers.push({ number, step: 'claimed', claimedAt: this.now, endedAt: this.now, error: null });
  }

  goOn(type: 'send' | 'record' | 'settle' | 'crash', who: number, error: AttemptError | null): void {
    const courier = this.couriers[who % Math.max(1, this.couriers.length)];
    if (courier === undefined) return;
    if (type === 'crash') this.couriers = this.couriers.filter((each) => each !== courier);
    // A courier whose lease is over has crashed or hangs: its request has ended with its deadline.
    if (type === 'send' && courier.step === 'claimed' && this.now < courier.claimedAt + LEASE_MS) {
      this.posts.push({ number: courier.number, at: this.now });
      Object.assign(courier, { step: 'sent', endedAt: this.now, error });
    }
    if (type === 'record' && courier.step === 'sent') {
      this.record(courier);
      courier.step = 'recorded';
    }
    if (type === 'settle' && courier.step === 'recorded') {
      this.messages = Math.max(0, this.messages - (isFinal(this.row.state) ? 1 : 0));
      this.couriers = this.couriers.filter((each) => each !== courier);
    }
  }

  record({ number, claimedAt, endedAt, error }: Courier): void {
    const outcome = { startedAt: new Date(claimedAt), durationMs: endedAt - claimedAt, error };
    const next = end(this.row, number, outcome, DELAY_MS);
    if (next === null) return;
    this.row = next;
    this.ends.set(number, { at: endedAt, error });
    if (error === null) this.attemptsAtSuccess = this.row.attemptCount;
  }

  sweep(): void {
    const aborted = abort(this.row, this.now, DELAY_MS);
    if (aborted !== null) {
      this.ends.set(this.row.attemptCount, { at: this.row.attemptStartedAt as number, error: 'aborted' });
      this.row = aborted;
    }
    const isWaiting = this.row.state === 'queued' || this.row.state === 'retry_wait';
    if (isWaiting && this.row.dueAt <= this.now && this.messages === 0) this.messages = 1;
  }

  check(): void {
    const { row, posts, ends } = this;
    assert.ok(row.attemptCount <= ATTEMPTS_MAX, 'at most six attempts');
    assert.equal(new Set(posts.map(({ number }) => number)).size, posts.length, 'each attempt is posted at most once');
    assert.ok(
      posts.every(({ number }) => number <= row.attemptCount),
      'an attempt is counted before it is posted',
    );
    if (this.attemptsAtSuccess !== null) {
      assert.equal(row.attemptCount, this.attemptsAtSuccess, 'no attempt after a recorded 200');
      assert.ok(row.state === 'delivered' || row.state === 'cancelled', 'a recorded 200 is final');
    }
    for (const { number, at } of posts) {
      const before = ends.get(number - 1);
      assert.ok(number === 1 || before !== undefined, 'an attempt follows one that has ended');
      if (before !== undefined) assert.ok(at - before.at >= DELAY_MS, 'the delay lies between two attempts');
    }
    if (row.state === 'failed') assert.equal(row.attemptCount, ATTEMPTS_MAX);
    if (row.state === 'delivered') assert.ok([...ends.values()].some(({ error }) => error === null));
  }

  /** No more trouble: the sweeper sweeps, couriers finish, the endpoint answers as it is told. */
  settleDown(error: AttemptError | null): void {
    for (let round = 0; round < 4 * ATTEMPTS_MAX && !isFinal(this.row.state); round++) {
      this.now += DELAY_MS + LEASE_MS;
      this.play({ type: 'sweep' });
      this.play({ type: 'draw' });
      this.play({ type: 'message' });
      for (let who = 0; who < this.couriers.length; who++) {
        this.play({ type: 'send', who, error });
        this.play({ type: 'record', who, error });
      }
      this.check();
    }
  }
}

const error = fc.constantFrom<AttemptError | null>(null, 'timeout', 'status', 'reset');
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constantFrom('message', 'draw', 'sweep') }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constantFrom('park', 'lose', 'double') }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('wait' as const),
      ms: fc.constantFrom(1, 1_000, LEASE_MS - 1, LEASE_MS, DELAY_MS - 1, DELAY_MS),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constantFrom('send', 'send', 'record', 'record', 'settle', 'crash'),
      who: fc.nat(3),
      error: fc.oneof({ weight: 1, arbitrary: fc.constant(null) }, { weight: 5, arbitrary: error }),
    }),
  },
);

test('whatever is lost, early, late or doubled, and wherever couriers crash, the rules hold', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), error, (steps, lastError) => {
      const world = new World();
      for (const each of steps) {
        world.play(each);
        world.check();
      }
      world.settleDown(lastError);
      assert.ok(isFinal(world.row.state), `it ends, and is not ${world.row.state} for ever`);
    }),
    { numRuns: 3_000, seed: 20_261_121 },
  );
});

test('a cancelled delivery is never posted again', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), fc.array(step, { maxLength: 60 }), (before, after) => {
      const world = new World();
      for (const each of before) world.play(each);
      if (isFinal(world.row.state)) return;
      world.play({ type: 'cancel' });
      const underWay = world.couriers.filter((courier) => courier.step === 'claimed').length;
      const posted = world.posts.length;
      for (const each of after) world.play(each);
      assert.ok(world.posts.length <= posted + underWay);
      assert.equal(world.row.state, 'cancelled');
    }),
    { numRuns: 1_000, seed: 20_261_121 },
  );
});

test('a success that is recorded after its lease ended wins over the abort', () => {
  const world = new World();
  world.play({ type: 'message' });
  world.play({ type: 'send', who: 0, error: null });
  world.play({ type: 'wait', ms: LEASE_MS });
  world.play({ type: 'sweep' });
  assert.equal(world.row.state, 'retry_wait');
  world.play({ type: 'record', who: 0, error: null });
  assert.equal(world.row.state, 'delivered');
  assert.equal(
    end({ ...world.row, state: 'cancelled' }, 1, { startedAt: new Date(0), durationMs: 0, error: null }, 0),
    null,
  );
});

test('a success that is recorded late wins over the attempts that have followed it', () => {
  for (const stepsOfAnother of [['message'], ['message', 'send', 'record']] as const) {
    const world = new World();
    world.play({ type: 'message' });
    world.play({ type: 'send', who: 0, error: null });
    world.play({ type: 'wait', ms: DELAY_MS });
    world.play({ type: 'sweep' });
    for (const type of stepsOfAnother) world.play({ type, who: 1, error: 'status' });
    assert.equal(world.row.attemptCount, 2);
    world.play({ type: 'record', who: 0, error: null });
    assert.equal(world.row.state, 'delivered');
    for (const type of ['send', 'record'] as const) world.play({ type, who: 1, error: 'status' });
    world.check();
  }
});

test('a replay starts a new series of six', () => {
  const world = new World();
  world.settleDown('status');
  assert.equal(world.row.state, 'failed');
  let row = replay(world.row, world.now) as DeliveryProgress;
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    row = claim(row, 'message', row.dueAt, LEASE_MS) as DeliveryProgress;
    const outcome = { startedAt: new Date(row.dueAt), durationMs: 0, error: 'status' as const };
    row = end(row, ATTEMPTS_MAX + attempt, outcome, DELAY_MS) as DeliveryProgress;
    assert.equal(row.state, attempt < ATTEMPTS_MAX ? 'retry_wait' : 'failed');
  }
  assert.equal(replay(world.row, 0)?.attemptsSpent, ATTEMPTS_MAX);
  assert.equal(replay(row, 0)?.state, 'queued');
  assert.equal(replay({ ...row, state: 'delivered' }, 0), null);
});
