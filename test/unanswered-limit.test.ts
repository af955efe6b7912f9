/**
 * An endpoint that has never answered gets at most two attempts a second, as do all such endpoints of a client on one
 * host together. All hosts of a client together get 64.
 */

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

/** When each attempt began. The scheduler is called every `STEP_MS`. */
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

for (const [what, crowd, each, untilMs, began, distinct] of [
  ['URLs on a host', 1_000, 1, 10_000, 20, 20],
  ['hosts of a client', 400, 4, 20_000, 1_280, 400],
] as const) {
  const most = began / (untilMs / 1_000);
  test(`${crowd} ${what} that have never answered share ${most} attempts a second, in turn`, () => {
    const round = openRound();
    for (let count = 0; count < crowd; count++) {
      const key = keyOf(`u${count}`, 'client', distinct === crowd ? `dead${count}` : 'stranger');
      for (let entry = 0; entry < each; entry++) round.add(key, 'x', 'first', ID);
    }
    const neighbour = keyOf('u1', 'other', 'stranger');
    round.add(neighbour, 'x', 'first', ID);
    const seen: string[] = [];
    const times = play(round, { untilMs }, (turn) => {
      seen.push(turn.queue.key);
      end(round, turn, false);
    });
    assert.equal(times.length, began + 1);
    assert.equal(new Set(seen).size, distinct + 1);
    assert.ok(seen.slice(0, 3).includes(neighbour), 'another client has its own limit');
  });
}

test('once one endpoint of a host has answered, its other endpoints no longer share two attempts a second', () => {
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
