/** The feed as its clients read it: nothing is added before an issued cursor, and no cursor skips or repeats items. */

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { createRandom } from '../../bench/adverts/seeded-random.ts';
import { type SearchNumber, timeOrderedUuid, type Uuid } from '../../src/engine/domain/ids.ts';
import { bodyHead, bodyOf } from '../../src/engine/domain/routing.ts';
import { sweep } from '../../src/engine/maintenance/retention.ts';
import { type FeedItem, insertFeedBatches, insertFeedItems } from '../../src/engine/store/feed-batches.ts';
import { insertSnapshots } from '../../src/engine/store/snapshots.ts';
import { readFeedDelay } from '../../src/features/feed/feed-reads.ts';
import { type ApiAnswer, startTestApi } from '../support/api.ts';
import { valuesOf } from '../support/lists.ts';

type Wake = (clientIds: readonly Uuid[] | null) => void;
let wake: Wake = () => undefined;
let tellKeyChange = (): void => undefined;
const ending = new AbortController();
const api = await startTestApi(
  { after },
  {
    onFeed: (listener) => void (wake = listener),
    onKeyChange: (listener) => {
      const others = tellKeyChange;
      tellKeyChange = () => {
        others();
        listener();
      };
    },
    ending: ending.signal,
    settings: { connectionsMax: 10 },
  },
);
const { database } = api;

interface Scene {
  readonly key: string;
  readonly clientId: Uuid;
  readonly searchId: Uuid;
  readonly searchNumber: SearchNumber;
  read(query?: string): Promise<ApiAnswer>;
}

let scenes = 0;

async function openScene(members: Record<string, unknown> = {}): Promise<Scene> {
  const key = await api.newClient(`feed ${scenes++}`);
  const call = (method: string, path: string, body?: unknown) => api.call(method, path, body, { key });
  const { body } = await call('POST', '/searches', { title: 'feed', notificationEnabled: true, ...members });
  const { rows } = await database.query('select number, id, client_id from searches where id = $1', [
    body['@id'].slice(10),
  ]);
  const { number, id, client_id: clientId } = rows[0];
  return { key, clientId, searchId: id, searchNumber: number, read: (query = '') => call('GET', `/feed${query}`) };
}

/** Writes what a transaction of the recorder writes; `commit` ends it. */
async function record(
  scene: Pick<Scene, 'clientId' | 'searchId' | 'searchNumber'>,
  count: number,
  document = '{"é":1.0}',
) {
  const connection = await database.connect();
  await connection.query('begin');
  const { rows } = await connection.query('select sequence_floor from intake_leader for share');
  const now = new Date();
  const snapshotId = timeOrderedUuid(now);
  const items: FeedItem[] = Array.from({ length: count }, (_, position) => {
    const matchId = timeOrderedUuid(now);
    const match = { id: matchId, createdAt: now.toISOString(), updatedAt: now.toISOString() };
    const head = bodyHead({ kind: 'property.ad.create', field: null }, scene.searchId, matchId, match);
    const told = { channel: 'match', kind: 'property.ad.create', head, snapshotId } as const;
    return { id: timeOrderedUuid(now), sequence: position + 1, searchNumber: scene.searchNumber, matchId, ...told };
  }).sort((a, b) => (a.id < b.id ? -1 : 1));
  const entries = items.map(({ id, searchNumber }) => ({ clientId: scene.clientId, id, searchNumber }));
  const statements = [
    ...insertSnapshots([{ id: snapshotId, document }]),
    ...insertFeedItems(items),
    ...insertFeedBatches(entries, rows[0].sequence_floor),
  ];
  for (const { text, values } of statements) await connection.query(text, [...values]);
  return {
    ids: items.map(({ id }) => id),
    bodies: items.map(({ head }) => bodyOf(head, document)),
    async commit() {
      await connection.query('commit');
      connection.release();
      wake([scene.clientId]);
    },
    async rollBack() {
      await connection.query('rollback');
      connection.release();
    },
  };
}

const idsOf = ({ body }: ApiAnswer): Uuid[] => body.items.map(({ id }: { id: Uuid }) => id);

describe('the feed', () => {
  it('returns nothing before which an item may still be committed', async () => {
    const scene = await openScene();
    const slow = await record(scene, 2);
    const quick = await record(scene, 2);
    await quick.commit();
    const early = await scene.read();
    assert.deepEqual(early.body.items, [], 'the first transaction may still commit');
    assert.ok((await readFeedDelay(database)) > 0, 'the delay of the feed is measured');
    await slow.commit();
    const all = await scene.read(`?after=${early.body.next}`);
    assert.deepEqual(idsOf(all), [...slow.ids, ...quick.ids]);
    assert.deepEqual((await scene.read(`?after=${all.body.next}`)).body.items, []);
    assert.equal(await readFeedDelay(database), 0);
  });

  it('has every item once and in one order for a client that follows it, despite commits and rollbacks', async () => {
    const random = createRandom(94);
    const scene = await openScene();
    const open: Awaited<ReturnType<typeof record>>[] = [];
    const committed: Uuid[] = [];
    const commit = async (batch: (typeof open)[number]) => {
      await batch.commit();
      committed.push(...batch.ids);
    };
    /** Reads from the cursor to the current end. */
    const readOn = async (from: string): Promise<{ readonly ids: readonly Uuid[]; readonly cursor: string }> => {
      const page = await scene.read(`?limit=3${from}`);
      const cursor = `&after=${page.body.next}`;
      if (page.body.items.length === 0) return { ids: [], cursor };
      const rest = await readOn(cursor);
      return { ids: [...idsOf(page), ...rest.ids], cursor: rest.cursor };
    };
    const along: Uuid[] = [];
    let cursor = '';
    const readAlong = async () => {
      const read = await readOn(cursor);
      along.push(...read.ids);
      cursor = read.cursor;
    };
    for (let step = 0; step < 200; step++) {
      const action = random.pick(['record', 'record', 'commit', 'commit', 'roll back', 'read']);
      if (action === 'read') await readAlong();
      else if (action === 'record' && open.length < 4) open.push(await record(scene, 1 + (step % 3)));
      else if (open.length > 0) {
        const [batch = assert.fail()] = open.splice(Math.floor(random.uniform() * open.length), 1);
        await (action === 'roll back' ? batch.rollBack() : commit(batch));
      }
    }
    for (const batch of open) await commit(batch);
    await readAlong();
    assert.deepEqual(along.toSorted(), committed.toSorted());
    assert.deepEqual((await readOn('')).ids, along);
    assert.ok(committed.length > 50, String(committed.length));
  });

  it('begins with items recorded from now on for a client that requests the latest', async () => {
    const scene = await openScene();
    await (await record(scene, 2)).commit();
    const open = await record(scene, 1);
    const latest = await scene.read('?after=latest');
    assert.deepEqual(latest.body.items, [], 'earlier items are left out');
    await open.commit();
    const later = await record(scene, 1);
    await later.commit();
    const told = await scene.read(`?after=${latest.body.next}`);
    assert.deepEqual(idsOf(told), [...open.ids, ...later.ids], 'items of open transactions follow');
  });

  it('is read in pages of any size, with the bytes of each body unchanged', async () => {
    const scene = await openScene({ context: { user: 7 } });
    const batches = [];
    for (const count of [3, 1, 5]) {
      const batch = await record(scene, count);
      await batch.commit();
      batches.push(batch);
    }
    const [ids, bodies] = [batches.flatMap((batch) => batch.ids), batches.flatMap((batch) => batch.bodies)];
    for (const limit of [1, 2, 4, 100]) {
      const read: string[] = [];
      for (let query = `?limit=${limit}`; ; ) {
        const page = await scene.read(query);
        read.push(...idsOf(page));
        for (const id of idsOf(page)) assert.ok(page.text.includes(`"body":${bodies[ids.indexOf(id)]}`), id);
        for (const item of page.body.items) {
          assert.deepEqual(item.context, { user: 7 });
          assert.equal(item.search, `/searches/${scene.searchId}`);
          const rest = await scene.read(`?after=${item.cursor}`);
          assert.deepEqual(idsOf(rest), ids.slice(ids.indexOf(item.id) + 1), 'each cursor continues after its item');
        }
        if (page.body.items.length === 0) break;
        query = /<\/feed(\?[^>]*)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1] ?? '';
        assert.deepEqual(Object.fromEntries(new URLSearchParams(query)), { limit: `${limit}`, after: page.body.next });
      }
      assert.deepEqual(read, ids, `${limit} at a time`);
    }
  });

  it('can be read for a single search', async () => {
    const scene = await openScene();
    const other = await api.call('POST', '/searches', { title: 'other' }, { key: scene.key });
    const { rows } = await database.query('select number, id from searches where id = $1', [
      other.body['@id'].slice(10),
    ]);
    const second = { clientId: scene.clientId, searchId: rows[0].id, searchNumber: rows[0].number };
    for (const each of [scene, second, scene]) await (await record(each, 2)).commit();
    const wanted = await scene.read(`?search=${second.searchId}`);
    assert.equal(wanted.body.items.length, 2);
    assert.ok(wanted.body.items.every(({ search }: { search: string }) => search === `/searches/${second.searchId}`));
    assert.equal((await scene.read()).body.items.length, 6);
  });

  it('accepts only unmodified cursors of the same client and filter', async () => {
    const scene = await openScene();
    await (await record(scene, 1)).commit();
    const { next } = (await scene.read()).body;
    const other = await openScene();
    const refused = [
      await other.read(`?after=${next}`),
      await scene.read(`?after=${next}&search=${scene.searchId}`),
      await scene.read(`?after=${next.slice(0, -2)}${next.endsWith('AA') ? 'QA' : 'AA'}`),
      await scene.read(`?after=B${next.slice(1)}`),
      await scene.read(`?after=${next}=`),
      await scene.read('?after=x'),
    ];
    assert.deepEqual(
      valuesOf(refused, 'status'),
      refused.map(() => 400),
    );
    assert.equal((await scene.read(`?search=${other.searchId}`)).status, 404);
    assert.deepEqual((await other.read()).body.items, []);
  });

  it('withholds items recorded with contacts once their search hides contacts', async () => {
    const scene = await openScene();
    const open = await record(scene, 1, '{"adverts":[{"contact":{"phone":"0494"}}]}');
    await open.commit();
    await (await record(scene, 1, '{"adverts":[{"contact":null},{}]}')).commit();
    const patch = (hidePropertyContact: boolean) =>
      api.call('PATCH', `/searches/${scene.searchId}`, { hidePropertyContact }, { key: scene.key });
    await patch(true);
    const { body, text } = await scene.read();
    assert.deepEqual(
      body.items.map(({ body: told, withheld = false }: { body: object | null; withheld?: boolean }) => [
        told === null,
        withheld,
      ]),
      [
        [true, true],
        [false, false],
      ],
    );
    assert.equal(text.includes('0494'), false);
    await patch(false);
    assert.equal(
      (await scene.read()).body.items.some(({ withheld = false }) => withheld),
      false,
    );
  });

  it('answers an expired cursor with the cursor at which to begin', async () => {
    const scene = await openScene();
    const [old, young] = [await record(scene, 2), await record(scene, 2)];
    const start = (await scene.read()).body.next;
    await old.commit();
    await young.commit();
    const [, last] = (await scene.read()).body.items;
    await database.query(
      `update feed_batches set created_at = now() - interval '31 days'
       where client_id = $1 and recorded_in = (select min(recorded_in) from feed_batches where client_id = $1)`,
      [scene.clientId],
    );
    const days = { events: 0, deliveries: 30, expired: 0 };
    await sweep({ database, days }, { restFactor: 0 });
    const gone = await scene.read(`?after=${start}`);
    assert.equal(gone.status, 410, gone.text);
    assert.deepEqual(idsOf(await scene.read(`?after=${gone.body.oldest}`)), young.ids);
    assert.deepEqual(idsOf(await scene.read()), young.ids);
    assert.deepEqual(idsOf(await scene.read(`?after=${last.cursor}`)), young.ids, 'nothing was missed');
  });

  it('answers a cursor from before a restore with the cursor at which to begin', async () => {
    const scene = await openScene();
    await (await record(scene, 1)).commit();
    const before = (await scene.read()).body.next;
    // Simulates a copy in another cluster: its rows have higher transaction numbers than the cluster's current ones.
    await database.query(`update feed_batches set recorded_in = '900000000000'::xid8 where client_id = $1`, [
      scene.clientId,
    ]);
    await database.query('update intake_leader set sequence_floor = sequence_floor + 1000000');
    const restored = await record(scene, 1);
    await restored.commit();
    const gone = await scene.read(`?after=${before}`);
    assert.equal(gone.status, 410);
    const all = await scene.read(`?after=${gone.body.oldest}`);
    assert.equal(all.body.items.length, 2);
    assert.equal(idsOf(all)[1], restored.ids[0]);
    assert.deepEqual((await scene.read(`?after=${all.body.next}`)).body.items, []);
  });

  it('keeps a client waiting while an earlier transaction may still commit, and then answers', async () => {
    const scene = await openScene();
    const slow = await record(scene, 1);
    const quick = await record(scene, 1);
    const waiting = scene.read('?wait=30');
    await quick.commit();
    const isWaiting = await Promise.race([waiting.then(() => false), scene.read().then(() => true)]);
    assert.ok(isWaiting);
    await slow.commit();
    assert.deepEqual(idsOf(await waiting).slice(0, 1), slow.ids);
  });

  it('ends only the waits of a revoked key, immediately', async () => {
    const [scene, other] = [await openScene(), await openScene()];
    const polls = Array.from({ length: 5 }, () => scene.read('?wait=30'));
    const waitingOfOther = other.read('?wait=30').then(() => 'ended');
    // The poll that is refused is answered once the four others wait.
    await Promise.race(polls);
    await database.query('update api_keys set revoked_at = now() where client_id = $1', [scene.clientId]);
    tellKeyChange();
    const statuses = (await Promise.all(polls)).map(({ status }) => status);
    assert.deepEqual(statuses.toSorted(), [401, 401, 401, 401, 429]);
    assert.equal(await Promise.race([waitingOfOther, other.read().then(() => 'waits')]), 'waits');
    await (await record(other, 1)).commit();
    await waitingOfOther;
  });

  it('keeps four polls of a client waiting, and half the number of connections in total', async () => {
    const [first, second] = [await openScene(), await openScene()];
    const pollsOf = (scene: Scene, count: number) => Array.from({ length: count }, () => scene.read('?wait=30'));
    // The last of five polls is refused, and is therefore answered first.
    const polls = pollsOf(first, 5);
    const refused = await Promise.race(polls);
    assert.deepEqual([refused.status, refused.headers.get('Retry-After')], [429, '1']);
    polls.push(...pollsOf(second, 2));
    const { status } = await Promise.race(polls.slice(5));
    assert.equal(status, 429);
    assert.equal((await first.read()).status, 200, 'a request without a wait is answered');
    for (const scene of [first, second]) await (await record(scene, 1)).commit();
    const answers = (await Promise.all(polls)).filter(({ status }) => status !== 429);
    assert.deepEqual(
      answers.map((answer) => [answer.status, answer.body.items.length]),
      Array.from({ length: 5 }, () => [200, 1]),
    );
  });

  it('answers waiting clients immediately when the service ends', async () => {
    const scene = await openScene();
    const waiting = scene.read('?wait=30');
    ending.abort();
    assert.deepEqual((await waiting).body.items, []);
    assert.deepEqual((await scene.read('?wait=30')).body.items, []);
  });
});
