/**
 * The feed on running daemons that send, record and die. It contains every webhook that was received, with the same id
 * and bytes. An item that no receiver got was cancelled or had no endpoint. A client that reads along gets the same
 * items as one that reads from the beginning.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countOpen } from '../support/courier.ts';
import { createApiKey, startDaemon } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { createGate } from '../support/gate.ts';
import { connectCrawler, numberedFlat } from '../support/intake.ts';
import { valuesOf } from '../support/lists.ts';
import { restClient } from '../support/rest-client.ts';
import { lastFirst, startTestServers } from '../support/servers.ts';
import { RECOVERY_MAX_MS, until } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const PROPERTIES = 40;
const ROUNDS = 30;
const SETTINGS = { VIGIE_RETRY_DELAY_MS: '1000', VIGIE_ATTEMPT_TIMEOUT_MS: '20000' };

interface Item {
  readonly id: string;
  readonly cursor: string;
  readonly sequence: number;
  readonly search: string;
  readonly channel: string;
  /** The item's text in the page. */
  readonly text: string;
}

test('the feed has every webhook body, byte by byte, even if recorders die in between', async (t) => {
  const cleanup = lastFirst(t);
  const servers = await startTestServers(cleanup);
  const receiver = await startWebhookReceiver(cleanup);
  const database = connectDatabase(cleanup, servers.postgres.url);
  const start = () => startDaemon(cleanup, servers, { ...SETTINGS, VIGIE_ALLOW_PRIVATE_ENDPOINTS: 'true' });
  const daemons = [await start(), await start()];
  const reading = await startDaemon(cleanup, servers, { ...SETTINGS, VIGIE_ROLES: 'api' });
  const crawler = await connectCrawler(cleanup, servers.nats.url);
  const key = await createApiKey(servers);
  const client = restClient(daemons[0] as (typeof daemons)[0], key);
  const saved = { notificationEnabled: true, withCoherentPrice: null, subscribedEvents: ['ad.update.price'] };
  const endpoints = { endpointRecipient: receiver.urlOf('/matches'), eventEndpoint: receiver.urlOf('/events') };
  const told = await client.createSearch({ title: 'told', ...saved, ...endpoints });
  const untold = await client.createSearch({ title: 'without an endpoint', ...saved });
  await client.createSearch({ title: 'silent', ...endpoints, subscribedEvents: ['ad.update.price'] });
  const { gate, open: release } = createGate();
  receiver.script('/gone', { type: 'gated', gate, status: 200 });
  const [goneTo, title] = [receiver.urlOf('/gone'), 'deleted'];
  const gone = await client.createSearch({ title, ...saved, endpointRecipient: goneTo, eventEndpoint: goneTo });

  const { read, readOn } = reader(reading.apiUrl, key);
  const expected = 2 * PROPERTIES * ROUNDS;
  const ofStanding = (items: readonly Item[]) => items.filter(({ search }) => search !== gone.iri);
  const along = readOn((items) => ofStanding(items).length === expected);
  for (let round = 0; round < ROUNDS; round++) {
    const crawledAt = new Date(Date.UTC(2026, 2, 10, 8, 0, round)).toISOString();
    const messages = Array.from({ length: PROPERTIES }, (_, number) =>
      numberedFlat(number, 100_000 + round, crawledAt),
    );
    await crawler.publish(...messages);
    if (round === ROUNDS / 2) {
      await until(
        () => read(),
        (items) => items.some(({ search }) => search === gone.iri),
      );
      assert.equal((await restClient(reading, key).request('DELETE', gone.iri)).status, 204);
      release();
    }
    if (round % 8 !== 4) continue;
    // The leader dies in the middle of the round; the other daemon takes over, and a new one becomes its standby.
    const leads = await Promise.all(daemons.map((daemon) => isLeading(daemon.operationsUrl)));
    const leader = Math.max(0, leads.indexOf(true));
    await daemons[leader]?.end('SIGKILL');
    daemons[leader] = await start();
  }
  const readAlong = await along;
  await until(
    () => countOpen(database),
    (open) => open === 0,
    RECOVERY_MAX_MS,
  );
  const all = await read();
  assert.equal(ofStanding(all).length, expected);
  assert.deepEqual(valuesOf(readAlong, 'id'), valuesOf(all, 'id'), 'who read along has missed nothing');
  assert.equal(new Set(all.map(({ id }) => id)).size, all.length, 'nothing twice');
  const inFeed = new Map(all.map((item) => [item.id, item]));
  for (const { id, body, headers } of receiver.posts) {
    const item = inFeed.get(id);
    assert.ok(item !== undefined && item.text.endsWith(`"body":${body.toString()}}`), id);
    assert.equal(item.sequence, Number(headers['vigie-sequence']));
  }
  const received = new Set(receiver.posts.map(({ id }) => id));
  for (const { id, search } of ofStanding(all)) assert.equal(received.has(id), search === told.iri, id);
  const { rows } = await database.query<{ id: string }>(`select id from delivery_states where state = 'cancelled'`);
  const cancelled = new Set(rows.map(({ id }) => id));
  const missing = all.filter(({ id, search }) => search === gone.iri && !received.has(id));
  assert.ok(missing.length > 0, 'what was never attempted is in the feed all the same');
  for (const { id } of missing) assert.ok(cancelled.has(id), id);
  assert.equal(all.filter(({ search }) => search === untold.iri).length, PROPERTIES * ROUNDS);
  assertCounted(all);
});

/** The sequences of each match ascend by one, in the order of the feed. */
function assertCounted(items: readonly Item[]): void {
  const last = new Map<string, number>();
  for (const { text, sequence } of items) {
    const match = /"@id":"(\/matches\/[^"]+)"/.exec(text)?.[1] ?? '';
    assert.equal(sequence, (last.get(match) ?? 0) + 1, match);
    last.set(match, sequence);
  }
}

async function isLeading(operationsUrl: string): Promise<boolean> {
  const metrics = await (await fetch(`${operationsUrl}/metrics`)).text();
  return /^vigie_intake_leads 1$/m.test(metrics);
}

function reader(apiUrl: string, key: string) {
  async function page(query: string): Promise<{ readonly items: readonly Item[]; readonly next: string }> {
    const response = await fetch(`${apiUrl}/feed?limit=150&${query}`, { headers: { 'X-API-KEY': key } });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    const { items, next } = JSON.parse(text) as { items: Item[]; next: string };
    const starts = items.map(({ cursor }) => text.indexOf(`{"cursor":"${cursor}"`));
    const ends = [...starts.slice(1).map((at) => at - 1), text.lastIndexOf('],"next":')];
    return { items: items.map((item, at) => ({ ...item, text: text.slice(starts[at], ends[at]) })), next };
  }
  return {
    /** Reads from the beginning to the end. */
    async read(): Promise<Item[]> {
      const read: Item[] = [];
      for (let query = ''; ; ) {
        const { items, next } = await page(query);
        if (items.length === 0) return read;
        read.push(...items);
        query = `after=${next}`;
      }
    },
    /** Reads while items are recorded, until `isEnough` is true. */
    async readOn(isEnough: (items: readonly Item[]) => boolean): Promise<Item[]> {
      const read: Item[] = [];
      for (let query = 'wait=20'; !isEnough(read); ) {
        const { items, next } = await page(query);
        read.push(...items);
        query = `wait=20&after=${next}`;
      }
      return read;
    },
  };
}
