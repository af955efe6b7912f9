/** Slots for endpoints: fair turns, adaptive concurrency, reserves, and bounded queues. Time is an argument. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { TurnRing } from '../src/engine/actor/turn-ring.ts';
import { type BacklogPage, FairScheduler, type Turn } from '../src/engine/delivery/fair-scheduler.ts';
import { type AttemptError, type AttemptOutcome, LANES } from '../src/engine/domain/delivery.ts';
import type { Uuid } from '../src/engine/domain/ids.ts';
import { valuesOf } from './support/lists.ts';

const SLOTS = 32;
const ID = '019b0000-0000-7000-8000-000000000001' as Uuid;
/** One millisecond later than `ID`. */
const LATER = '019b0000-0001-7000-8000-000000000001' as Uuid;
const TOO_LONG_MS = 7_500;

function openRound(slots = SLOTS, concurrencyMax = 8): FairScheduler<string> {
  return new FairScheduler({ slots, concurrencyMax, tooLongMs: TOO_LONG_MS, waitingMax: 10_000, unrecordedMax: 512 });
}

function outcome(
  durationMs: number,
  error: AttemptError | null = null,
  statusCode: number | null = null,
): AttemptOutcome {
  return { startedAt: new Date(0), durationMs, statusCode, error, reason: null, responseHead: null };
}

function finish(round: FairScheduler<string>, turn: Turn<string>, ended = outcome(10)): void {
  round.answered(turn, `https://${turn.queue.key}.test`, ended);
  round.recorded(turn);
}

function addMany(round: FairScheduler<string>, key: string, count: number, isRetry = false): void {
  for (let number = 0; number < count; number++) round.add(key, `${key}-${number}`, isRetry ? 'retry' : 'first', ID);
}

/** Key of an endpoint of `client` on `host`, in the form of `endpointKeyOf`. */
function keyOf(endpoint: string, client: string, host = 'host'): string {
  return `${endpoint.padEnd(16, '.')}${client.padEnd(8, '.')}${host}`;
}

const keysOf = (turns: readonly Turn<string>[]) => turns.map(({ queue }) => queue.key);

/** Makes an endpoint answer quickly `count` times. */
function prove(round: FairScheduler<string>, key: string, count: number): void {
  for (let number = 0; number < count; number++) {
    round.add(key, 'proof', 'first', ID);
    for (const turn of round.nextTurns(1, 0)) finish(round, turn);
  }
}

test('endpoints take turns, however many deliveries wait for one of them', () => {
  const round = openRound();
  for (const key of ['a', 'b', 'c']) prove(round, key, 3);
  addMany(round, 'a', 50);
  addMany(round, 'b', 2);
  addMany(round, 'c', 2);
  assert.deepEqual(keysOf(round.nextTurns(6, 0)).toSorted(), ['a', 'a', 'b', 'b', 'c', 'c']);
});

test('clients take turns, however many URLs and hosts one of them names', () => {
  const round = openRound();
  const [many, neighbour] = [
    Array.from({ length: 1_000 }, (_, n) => keyOf(`m${n}`, 'many', `h${n % 500}`)),
    keyOf('n', 'one', 'h1'),
  ];
  prove(round, neighbour, 5);
  for (const key of many) round.add(key, 'x', 'first', ID);
  addMany(round, neighbour, 4);
  const turns = round.nextTurns(8, 0);
  assert.equal(turns.filter(({ queue }) => queue.key === neighbour).length, 4);
});

test('the hosts of a client take turns, and the endpoints of a host', () => {
  const round = openRound();
  const crowd = Array.from({ length: 20 }, (_, n) => keyOf(`u${n}`, 'client', 'crowded'));
  const lone = keyOf('lone', 'client', 'lone');
  for (const key of [...crowd, lone]) prove(round, key, 5);
  for (const key of crowd) addMany(round, key, 3);
  addMany(round, lone, 5);
  const turns = keysOf(round.nextTurns(10, 0));
  assert.equal(turns.filter((key) => key === lone).length, 5);
  assert.equal(new Set(turns).size, 6, 'no endpoint of the crowded host has a second turn yet');
});

test('a client whose attempts fail faster than failures are recorded waits only for the recording', () => {
  const round = openRound(64, 8);
  const failing = Array.from({ length: 64 }, (_, n) => keyOf(`f${n}`, 'failing', `f${n}`));
  for (const key of failing) prove(round, key, 8);
  const unrecorded: Turn<string>[] = [];
  for (let now = 0; unrecorded.length < 448; now += 1_000) {
    for (const key of failing) addMany(round, key, 8);
    const turns = round.nextTurns(448 - unrecorded.length, now);
    for (const turn of turns) round.answered(turn, 'https://failing.test', outcome(1));
    unrecorded.push(...turns);
  }
  assert.deepEqual(round.nextTurns(64, 500_000), [], 'seven eighths of 512 wait to be recorded');
  const neighbour = keyOf('known', 'other');
  addMany(round, neighbour, 1);
  assert.deepEqual(keysOf(round.nextTurns(64, 500_000)), [neighbour]);
  round.recorded(unrecorded[0] as Turn<string>);
  assert.equal(round.nextTurns(64, 500_000).length > 0, true);
});

test('a client whose endpoints all hang at once leaves slots for other clients, even for unknown endpoints', () => {
  const round = openRound(64, 8);
  const hanging = Array.from({ length: 16 }, (_, n) => keyOf(`h${n}`, 'hanging', `h${n}`));
  for (const key of hanging) prove(round, key, 8);
  for (const key of hanging) addMany(round, key, 30);
  const stored = round.nextTurns(64, 0);
  assert.equal(stored.length, 56, 'seven eighths');
  const neighbours = [keyOf('known', 'first'), keyOf('unknown', 'second')];
  prove(round, neighbours[0] as string, 3);
  for (const key of neighbours) addMany(round, key, 2);
  assert.deepEqual(new Set(keysOf(round.nextTurns(2, 5_000))), new Set(neighbours));
});

test('a client at its limit of DNS lookups tries at most eight unproven endpoints at once, until a minute has passed', () => {
  const round = openRound(64, 8);
  const [crowded, other] = ['crowded', 'other'].map((client) =>
    Array.from({ length: 40 }, (_, n) => keyOf(`${client}${n}`, client, `${client}${n}`)),
  ) as [string[], string[]];
  for (const key of [...crowded, ...other]) addMany(round, key, 40);
  const started = (now: number, client: string) => {
    const turns = round.nextTurns(64, now);
    for (const turn of turns) round.withdraw(turn);
    return turns.filter(({ queue }) => queue.client.startsWith(client)).length;
  };
  assert.equal(started(0, 'crowded'), 16, 'half of the slots, shared');
  const [turn] = round.nextTurns(1, 0).filter(({ queue }) => queue.client.startsWith('crowded'));
  assert.ok(turn);
  round.withdraw(turn);
  const widths = [1_000, 1_500, 3_100, 5_200, 9_000, 12_000].map((now) => {
    round.noteCrowded(turn, now);
    return started(now, 'crowded');
  });
  assert.deepEqual(widths, [8, 8, 4, 2, 1, 1]);
  assert.equal(started(13_000, 'other'), 31);
  assert.equal(started(72_001, 'crowded'), 16);
});

test('skipping a client costs the same, however many endpoints wait there', () => {
  let asked = 0;
  const ring = new TurnRing<{ readonly client: string; readonly host: string }>(2);
  for (let n = 0; n < 5_000; n++) ring.place({ client: 'many', host: `h${n}` }, n % 2);
  const own = { client: 'one', host: 'h1' };
  ring.place(own, 1);
  const isOne = (client: string): boolean => {
    asked += 1;
    return client === 'one';
  };
  assert.equal(ring.next(isOne), own);
  assert.equal(asked, 3);
  ring.place(own, null);
  assert.equal(ring.next(isOne), null);
});

test('an unknown endpoint starts with one attempt and gets one more with each quick success', () => {
  const round = openRound();
  addMany(round, 'a', 60);
  const widths: number[] = [];
  for (let step = 0; step < 5; step++) {
    const turns = round.nextTurns(SLOTS, 0);
    widths.push(turns.length);
    for (const turn of turns) finish(round, turn);
  }
  assert.deepEqual(widths, [1, 2, 4, 8, 8]);
});

test('timeouts and slow answers halve the concurrency down to two; quick failures do not', () => {
  const round = openRound();
  prove(round, 'a', 10);
  const width = () => round.queue('a').concurrency;
  assert.equal(width(), 8);
  const widths: number[] = [];
  for (const ended of [
    outcome(15_000, 'timeout'),
    outcome(8_000),
    outcome(15_000, 'timeout'),
    outcome(20, 'status', 500),
  ]) {
    round.add('a', 'x', 'first', ID);
    for (const turn of round.nextTurns(1, 0)) finish(round, turn, ended);
    widths.push(width());
  }
  assert.deepEqual(widths, [4, 2, 2, 2]);
  round.add('a', 'x', 'first', ID);
  for (const turn of round.nextTurns(1, 0)) finish(round, turn, outcome(20, 'status', 429));
  assert.equal(width(), 2);
});

test('an endpoint that stops answering gets no further attempt until it answers', () => {
  const round = openRound();
  prove(round, 'a', 10);
  addMany(round, 'a', 20);
  const [first] = round.nextTurns(1, 0);
  assert.equal(round.nextTurns(1, 499).length, 1);
  assert.equal(round.nextTurns(1, 500).length, 0, 'the first attempt is overdue');
  finish(round, first as Turn<string>, outcome(600));
  assert.ok(round.nextTurns(1, 600).length === 1);
});

test('hanging endpoints use at most a quarter of the slots, and unknown and hanging ones together a half', () => {
  const round = openRound(32, 32);
  prove(round, 'healthy', 12);
  for (let number = 0; number < 32; number++) addMany(round, `hanging-${number}`, 3);
  for (let step = 0; step < 3; step++) {
    const turns = round.nextTurns(SLOTS, 0);
    assert.equal(turns.length, 16, 'some are still unknown');
    for (const turn of turns) finish(round, turn, outcome(15_000, 'timeout'));
  }
  assert.equal(round.nextTurns(SLOTS, 0).length, 8, 'now they are known');
  addMany(round, 'healthy', 40);
  const rest = keysOf(round.nextTurns(SLOTS, 0));
  assert.deepEqual([rest.length, new Set(rest)], [13, new Set(['healthy'])]);
});

test('first attempts at unknown endpoints, one of each client, leave a sixteenth of the slots to healthy ones', () => {
  const round = openRound(32);
  prove(round, keyOf('healthy', 'proven'), 12);
  for (let number = 0; number < 40; number++) addMany(round, keyOf(`e${number}`, `c${number}`), 2);
  assert.equal(round.nextTurns(SLOTS, 0).length, 30);
  addMany(round, keyOf('healthy', 'proven'), 4);
  assert.equal(round.nextTurns(SLOTS, 0).length, 2);
});

test('the retries of an outage leave a quarter of the slots to first attempts', () => {
  const round = openRound();
  const keys = Array.from({ length: 10 }, (_, number) => keyOf(`e${number}`, `c${number}`));
  for (const key of keys) prove(round, key, 8);
  for (const key of keys) addMany(round, key, 20, true);
  const retries = round.nextTurns(SLOTS, 0);
  assert.equal(retries.length, 24);
  assert.ok(retries.every(({ isRetry }) => isRetry));
  for (const key of keys) addMany(round, key, 2);
  const fresh = round.nextTurns(SLOTS, 0);
  assert.equal(fresh.length, 8);
  assert.ok(fresh.every(({ isRetry }) => !isRetry));
});

test('within an endpoint first attempts come first, but every fourth turn is a retry', () => {
  const round = openRound(1_000, 1_000);
  prove(round, 'a', 99);
  addMany(round, 'a', 80);
  addMany(round, 'a', 80, true);
  const taken = round.nextTurns(80, 0);
  assert.equal(taken.filter(({ isRetry }) => isRetry).length, 20);
});

test('an endpoint whose queue is full accepts no more, and others do', () => {
  const round = openRound();
  let admitted = 0;
  while (round.add('a', 'x', 'first', ID)) admitted += 1;
  assert.equal(admitted, 64);
  assert.equal(round.add('b', 'x', 'first', ID), true);
  const [turn] = round.nextTurns(1, 0);
  finish(round, turn as Turn<string>, outcome(15_000, 'timeout'));
  const queue = round.queue((turn as Turn<string>).queue.key);
  round.empty(queue);
  round.markFetched(queue, 'first', null);
  let slow = 0;
  while (round.add(queue.key, 'x', 'first', ID)) slow += 1;
  assert.equal(slow, 4, 'the rest waits in the queue');
});

test('deliveries that do not fit into memory are read from the queue in order, and later ones follow them', () => {
  const round = openRound();
  prove(round, 'a', 4);
  const place = ID;
  round.markBacklog('a', 'first');
  const [{ queue }] = round.pages(9) as [BacklogPage<string>];
  assert.equal(queue.key, 'a');
  assert.equal(round.add('a', 'late', 'first', LATER), false);
  assert.equal(round.add('a', 'again', 'retry', ID), true, 'retries have their own queue');
  round.addFetched('a', 'early', 'first');
  round.markFetched(queue, 'first', place);
  assert.deepEqual(queue.nextPage('first')?.position, place, 'there is more behind it');
  round.markFetched(queue, 'first', null);
  const reached = queue.nextPage('first')?.position ?? ID;
  assert.ok(place < reached && reached < LATER, 'the last page may have missed the late delivery');
  round.markFetched(queue, 'first', null);
  assert.deepEqual([queue.nextPage('first'), round.pages(9)], [null, []]);
  assert.equal(round.add('a', 'last', 'first', ID), true);
  const entries = round.nextTurns(9, 0).map(({ entry, isRetry }) => [entry, isRetry]);
  assert.deepEqual(entries, [
    ['early', false],
    ['last', false],
    ['again', true],
  ]);
});

test('a delivery released behind the cursor of a backlog is sent before the deliveries ahead of the cursor', () => {
  const round = openRound();
  round.markBacklog('a', 'first');
  const queue = round.queue('a');
  round.markFetched(queue, 'first', LATER);
  assert.equal(round.add('a', 'held back until now', 'first', ID), true, 'at once while there is room');
  assert.equal(queue.nextPage('first')?.position, LATER, 'the backlog is not walked again');
  while (queue.room > 0) round.addFetched('a', 'x', 'first');
  assert.equal(round.add('a', 'held back until there was none', 'first', ID), false);
  round.nextTurns(64, 0);
  round.empty(queue);
  round.markFetched(queue, 'first', '019b0000-0002-7000-8000-000000000001' as Uuid);
  assert.ok((queue.nextPage('first')?.position ?? LATER) < ID, 'it is read next');
  round.markFetched(queue, 'first', LATER);
  assert.equal(queue.nextPage('first')?.position, LATER, 'and only once');
});

test('a paused endpoint gets no slot until it resumes', () => {
  const round = openRound();
  addMany(round, 'a', 2);
  round.setPaused('a', true);
  assert.equal(round.add('a', 'x', 'first', ID), false);
  assert.equal(round.nextTurns(1, 0).length, 0);
  round.setPaused('a', false);
  assert.equal(round.nextTurns(1, 0).length, 1);
});

test('the backlog of a pause takes a quarter of the slots of its endpoint, until it has been read to its end', () => {
  const round = openRound();
  prove(round, 'a', 10);
  const queue = round.queue('a');
  round.setPaused('a', true);
  round.add('a', 'x', 'first', ID);
  round.setPaused('a', false);
  const page = (place: Uuid | null): number => {
    while (queue.room > 0 && queue.waiting < 64) round.addFetched('a', 'x', 'first');
    round.markFetched(queue, 'first', place);
    const turns = round.nextTurns(SLOTS, 0);
    for (const turn of turns) finish(round, turn);
    return turns.length;
  };
  assert.equal(page(LATER), 2);
  assert.equal(page(LATER), 2);
  page(null);
  assert.equal(page(null), 8);
});

test('an endpoint that hung before a restart does not start among the healthy ones', () => {
  const round = openRound();
  const remembered = { failureStreak: 9, concurrency: 2, hasAnswered: true };
  for (let number = 0; number < 20; number++) {
    round.remember({ key: `h${number}`, lastError: 'timeout', ...remembered });
    addMany(round, `h${number}`, 3);
  }
  assert.equal(round.nextTurns(SLOTS, 0).length, 8);
});

test('slots, concurrency and the number of waiting entries are never exceeded, and nothing is lost', () => {
  const action = fc.oneof(
    fc.record({ type: fc.constant('add' as const), key: fc.constantFrom('a', 'b', 'c'), isRetry: fc.boolean() }),
    fc.record({ type: fc.constant('take' as const), max: fc.nat(20) }),
    fc.record({ type: fc.constant('end' as const), ms: fc.constantFrom(5, 900, 15_000), ok: fc.boolean() }),
    fc.record({ type: fc.constant('withdraw' as const) }),
  );
  fc.assert(
    fc.property(fc.array(action, { maxLength: 200 }), (actions) => {
      const round = openRound(8, 4);
      const open: Turn<string>[] = [];
      let [admitted, taken, now] = [0, 0, 0];
      for (const each of actions) {
        now += 100;
        if (each.type === 'add') admitted += Number(round.add(each.key, 'x', each.isRetry ? 'retry' : 'first', ID));
        if (each.type === 'take') open.push(...round.nextTurns(each.max, now).map((turn) => (taken++, turn)));
        const turn = each.type === 'end' || each.type === 'withdraw' ? open.shift() : undefined;
        if (turn !== undefined && each.type === 'end') {
          finish(round, turn, outcome(each.ms, each.ok ? null : 'timeout'));
        } else if (turn !== undefined) round.withdraw(turn);
        assert.equal(round.inFlight, open.length);
        assert.equal(round.waiting, admitted - taken);
        assert.ok(open.length <= 8);
        for (const queue of round.queues()) assert.ok(queue.inFlight <= 4);
      }
      // Once everything in flight is answered, everything that waits gets its turn.
      for (const turn of open) finish(round, turn);
      for (let pass = 0; pass < 500 && round.waiting > 0; pass++) {
        for (const turn of round.nextTurns(8, (now += 100))) finish(round, turn);
      }
      assert.deepEqual([round.waiting, round.inFlight], [0, 0]);
    }),
    { seed: 20_261_121 },
  );
});

test('an endpoint whose queue was emptied gets no turn until the next entry is added', () => {
  const round = openRound();
  addMany(round, 'a', 3);
  addMany(round, 'a', 3, true);
  assert.equal(round.empty(round.queue('a')).length, 6);
  assert.deepEqual(round.nextTurns(SLOTS, 0), []);
  round.add('a', 'next', 'first', ID);
  assert.deepEqual(valuesOf(round.nextTurns(SLOTS, 0), 'entry'), ['next']);
});

test('first attempts usually precede retries, which precede deliveries of recoveries', () => {
  const round = openRound();
  prove(round, 'a', 4);
  for (const lane of LANES.toReversed()) for (const number of [1, 2]) round.add('a', `${lane} ${number}`, lane, ID);
  const entries = Array.from({ length: 6 }, () => {
    const [turn] = round.nextTurns(1, 0) as [Turn<string>];
    finish(round, turn);
    return turn.entry;
  });
  assert.deepEqual(entries, ['first 1', 'first 2', 'retry 1', 'retry 2', 'recovery 1', 'recovery 2']);
});

test('deliveries added while their backlog is read to its end are read after that', () => {
  const round = openRound();
  for (const kind of LANES) {
    const queue = round.queue(kind);
    round.markBacklog(kind, kind);
    assert.deepEqual(valuesOf(round.pages(1), 'queue'), [queue]);
    // The backlog has been read, but the result has not arrived yet.
    assert.equal(round.add(kind, 'committed after the look', kind, ID), false);
    round.markFetched(queue, kind, null);
    assert.deepEqual(valuesOf(round.pages(1), 'queue'), [queue], 'it is fetched once more');
    round.markFetched(queue, kind, null);
    assert.deepEqual(round.pages(1), []);
    assert.equal(round.add(kind, 'next', kind, ID), true);
  }
});

test('a client fills at most seven eighths of the memory, a second one as much of the rest, and a third one has space', () => {
  const round = openRound();
  const fill = (client: string): number => {
    let added = 0;
    for (let endpoint = 0; endpoint < 500; endpoint++) {
      const key = keyOf(`${endpoint}`, client, `host${endpoint}`);
      while (round.add(key, 'x', 'first', ID)) added += 1;
    }
    return added;
  };
  assert.equal(fill('flood'), 8_750);
  assert.equal(fill('second'), 1_094, 'seven times what is free then');
  assert.ok(round.add(keyOf('quiet', 'third'), 'x', 'first', ID));
});

test('the URLs of a host that has never answered share the memory of one, until one of them answers 200', () => {
  const round = openRound();
  const urls = Array.from({ length: 32 }, (_, number) => keyOf(`${number}`, 'client'));
  for (const url of urls) round.markBacklog(url, 'first');
  const counts = () => new Set(valuesOf(round.pages(64), 'count'));
  assert.deepEqual([round.pages(64).length, counts()], [32, new Set([2])]);
  assert.equal(round.pages(64).length, 32, 'pages that could not be read are given out again');
  const [first] = urls as [string];
  round.addFetched(first, 'x', 'first');
  finish(round, round.nextTurns(1, 0)[0] as Turn<string>);
  assert.ok(counts().has(64), 'the host answers: its other URLs have their own memory');
});

test('pages are read for each client in turn, regardless of the number of its URLs', () => {
  const round = openRound();
  for (let url = 0; url < 400; url++) round.markBacklog(keyOf(`${url}`, 'many'), 'first');
  round.markBacklog(keyOf('only', 'few'), 'first');
  assert.deepEqual(
    round.pages(2).map(({ queue }) => queue.client.replaceAll('.', '')),
    ['many', 'few'],
  );
});
