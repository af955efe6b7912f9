/** An endpoint that has never answered gets two attempts a second, as do all of a client's on one host; all its hosts 64. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FairScheduler, type Turn } from '../src/engine/delivery/fair-scheduler.ts';
import type { AttemptOutcome } from '../src/engine/domain/delivery.ts';
import { randomUuid } from '../src/engine/domain/ids.ts';

const STEP_MS = 20;
const ID = randomUuid();

function openRound(): FairScheduler<string> {
  return new FairScheduler({ slots: 64, concurrencyMax: 16, tooLongMs: 7_500, waitingMax: 10_000, unrecordedMax: 512 });
}

function keyOf(endpoint: string, client: string, host: string): string {
  return `${endpoint.padEnd(16, '.')}${client.padEnd(8, '.')}${host}`;
}

function end(round: FairScheduler<string>, turn: Turn<string>, isAnswered: boolean): void {
  const [statusCode, error] = isAnswered ? ([200, null] as const) : ([500, 'status'] as const);
  const outcome: AttemptOutcome = {
    ...{ startedAt: new Date(0), durationMs: 5, statusCode, error, reason: null, responseHead: null },
  };
  round.answered(turn, 'https://stranger.test', outcome);
  round.recorded(turn);
}

/** When each attempt began, asked every `STEP_MS`. */
function play(
  round: FairScheduler<string>,
  { fromMs = 0, untilMs }: { readonly fromMs?: number; readonly untilMs: number },
  onTurn: (turn: Turn<string>) => void,
): number[] {
  const times: number[] = [];
  for (let now = fromMs; now < untilMs; now += STEP_MS) {
    for (const turn of round.nextTurns(64, now)) {
      times.push(now);
      onTurn(turn);
    }
  }
  return times;
}

/** The most that began within any second. */
function mostInASecond(times: readonly number[]): number {
  return Math.max(...times.map((from) => times.filter((time) => time >= from && time < from + 1_000).length));
}

test('an endpoint that never answers gets two attempts a second, one that does gets as many as it takes', () => {
  const round = openRound();
  const [never, always] = [keyOf('never', 'client', 'stranger'), keyOf('always', 'client', 'own')];
  for (let count = 0; count < 60; count++)
    for (const key of [never, always]) round.add(key, 'x', count % 2 === 0 ? 'retry' : 'first', ID);
  const began: Record<string, number[]> = { [never]: [], [always]: [] };
  for (let now = 0; now < 10_000; now += STEP_MS) {
    for (const turn of round.nextTurns(64, now)) {
      began[turn.queue.key]?.push(now);
      end(round, turn, turn.queue.key === always);
    }
  }
  assert.equal(began[never]?.length, 20);
  assert.equal(mostInASecond(began[never] ?? []), 2);
  assert.equal(began[always]?.length, 60);
  assert.ok(Math.max(...(began[always] ?? [])) < 1_000);
});

test('a thousand URLs on a host that has never answered share the two attempts, and each has its turn', () => {
  const round = openRound();
  for (let count = 0; count < 1_000; count++) round.add(keyOf(`u${count}`, 'client', 'stranger'), 'x', 'first', ID);
  const neighbour = keyOf('u1', 'other', 'stranger');
  round.add(neighbour, 'x', 'first', ID);
  const seen: string[] = [];
  const times = play(round, { untilMs: 10_000 }, (turn) => {
    seen.push(turn.queue.key);
    end(round, turn, false);
  });
  assert.equal(times.length, 20 + 1);
  assert.equal(new Set(seen).size, 20 + 1, 'each another one');
  assert.ok(seen.slice(0, 3).includes(neighbour), 'another client has two of its own');
});

test('all hosts of a client that have never answered share 64 attempts a second, and another client has its own', () => {
  const round = openRound();
  for (let count = 0; count < 400; count++)
    for (let each = 0; each < 4; each++) round.add(keyOf(`u${count}`, 'client', `dead${count}`), 'x', 'first', ID);
  const neighbour = keyOf('u1', 'other', 'stranger');
  round.add(neighbour, 'x', 'first', ID);
  const seen: string[] = [];
  const times = play(round, { untilMs: 20_000 }, (turn) => {
    seen.push(turn.queue.key);
    end(round, turn, false);
  });
  assert.equal(times.length, 1_280 + 1);
  assert.equal(new Set(seen).size, 401, 'each host has its turn');
  assert.ok(seen.slice(0, 3).includes(neighbour));
});

test('once one endpoint of a host has answered, the others there have two a second each', () => {
  const round = openRound();
  for (let count = 0; count < 100; count++) round.add(keyOf(`u${count}`, 'client', 'own'), 'x', 'first', ID);
  const times = play(round, { untilMs: 2_000 }, (turn) => end(round, turn, true));
  assert.equal(times.length, 100);
});

test('an attempt that was not made is not counted', () => {
  const round = openRound();
  for (let count = 0; count < 10; count++) round.add(keyOf('never', 'client', 'stranger'), 'x', 'first', ID);
  for (let count = 0; count < 5; count++) for (const turn of round.nextTurns(1, 0)) round.withdraw(turn);
  assert.equal(round.waiting, 5);
  assert.equal(play(round, { untilMs: 1_000 }, (turn) => end(round, turn, false)).length, 2);
});
