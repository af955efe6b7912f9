/** A client's settings for its webhooks: a context for each search, and secrets that sign all of them. */

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { randomUuid } from '../../src/engine/domain/ids.ts';
import {
  createWebhookSecret,
  deleteWebhookSecret,
  readSigningSecrets,
  rememberWebhookSecrets,
} from '../../src/engine/store/webhook-secrets.ts';
import { startTestApi } from '../support/api.ts';
import { openDeliveryStage } from '../support/courier.ts';
import { valuesOf } from '../support/lists.ts';
import { SEEDED_TOKEN, seedDeliveries, seedSearch } from '../support/seeded-deliveries.ts';
import { type ReceivedPost, startWebhookReceiver } from '../support/webhook-receiver.ts';

async function newSecret(...request: Parameters<typeof createWebhookSecret>) {
  return (await createWebhookSecret(...request)) ?? assert.fail('There are too many secrets.');
}

let told = 0;
const api = await startTestApi({ after }, { secretsChanged: () => void told++ });

describe('webhook secrets', () => {
  it('are shown once, are at most three, and replace older ones over time', async () => {
    const key = await api.newClient('secretive');
    const call = (method: string, path: string, body?: unknown) => api.call(method, path, body, { key });
    const before = told;
    const first = await call('POST', '/webhook-secrets');
    assert.equal(first.status, 201, first.text);
    assert.match(first.body.secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.equal(first.body.hint, first.body.secret.slice(-5, -1));
    assert.equal(first.headers.get('Cache-Control'), 'no-store');
    assert.equal(first.headers.get('Location'), first.body['@id']);
    assert.equal(first.body.expiresAt, null);
    const read = await call('GET', first.body['@id']);
    assert.equal(read.text.includes(first.body.secret), false);
    const second = await call('POST', '/webhook-secrets', { overlapHours: 720 });
    const { expiresAt } = (await call('GET', first.body['@id'])).body;
    assert.equal(Date.parse(expiresAt) - Date.parse(second.body.createdAt), 720 * 3_600_000);
    await call('POST', '/webhook-secrets', { overlapHours: 720 });
    assert.equal((await call('GET', first.body['@id'])).body.expiresAt, expiresAt, 'its expiry is not postponed');
    assert.equal((await call('POST', '/webhook-secrets')).status, 409);
    const { body: listed } = await call('GET', '/webhook-secrets');
    assert.equal(listed['hydra:totalItems'], 3);
    assert.equal(JSON.stringify(listed).includes('whsec_'), false);
    const only = await call('POST', '/webhook-secrets', { overlapHours: 0 });
    assert.equal(only.status, 201, 'the older ones have made room');
    const { body: left } = await call('GET', '/webhook-secrets');
    assert.deepEqual(valuesOf(left['hydra:member'], 'id'), [only.body.id]);
    assert.equal((await call('GET', first.body['@id'])).status, 404, 'expired');
    assert.equal((await call('DELETE', only.body['@id'])).status, 204);
    assert.equal((await call('DELETE', only.body['@id'])).status, 404);
    assert.equal(told - before, 5, 'every change was announced');
    assert.equal(JSON.stringify(api.logged).includes('whsec_'), false, 'nothing is logged');
  });

  it('are refused with an invalid overlap or an unknown member', async () => {
    for (const overlapHours of [-1, 721, 1.5, '24', {}]) {
      assert.equal(
        (await api.call('POST', '/webhook-secrets', { overlapHours })).status,
        422,
        JSON.stringify(overlapHours),
      );
    }
    assert.equal((await api.call('POST', '/webhook-secrets', { overlapHour: 1 })).status, 422);
    assert.equal((await api.call('POST', '/webhook-secrets', [])).status, 422);
  });

  it('are never more than three, for any number of simultaneous requests', async () => {
    const key = await api.newClient('hasty');
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => api.call('POST', '/webhook-secrets', {}, { key })),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 201, 201, 409, 409, 409, 409, 409]);
  });

  it('sign only the webhooks of their client, after the token of the search', async (t) => {
    const receiver = await startWebhookReceiver(t);
    const stage = await openDeliveryStage(t, { retryDelayMs: 60_000 });
    const { database } = stage;
    const [search, neighbour] = [await seedSearch(database), await seedSearch(database)];
    const { value: older } = await newSecret(database, search.clientId, 24);
    const { value: newer } = await newSecret(database, search.clientId, 24);
    const { secret, value: deleted } = await newSecret(database, search.clientId, 24);
    await deleteWebhookSecret(database, search.clientId, secret.id);
    const context = { user: 'é', ids: [1, 2] };
    await database.query('update searches set context = $2 where id = $1', [search.id, JSON.stringify(context)]);
    stage.announcer.announce(await seedDeliveries(database, search, [receiver.urlOf('/own')]));
    stage.announcer.announce(await seedDeliveries(database, neighbour, [receiver.urlOf('/other')]));
    await stage.start();
    await stage.untilAllEnded();
    const [own, other] = ['/own', '/other'].map((path) => receiver.posts.find((post) => post.path === path));
    assert.ok(own !== undefined && other !== undefined);
    for (const valid of [SEEDED_TOKEN, older, newer]) verify(own, valid);
    assert.throws(() => verify(own, deleted));
    const signatures = own.headers['webhook-signature']?.split(' ') ?? [];
    assert.equal(signatures.length, 3);
    verify({ ...own, headers: { ...own.headers, 'webhook-signature': signatures[0] as string } }, SEEDED_TOKEN);
    verify(other, SEEDED_TOKEN);
    assert.equal(other.headers['webhook-signature']?.split(' ').length, 1);
    const sent = Buffer.from(own.headers['vigie-context'] ?? '', 'base64url').toString();
    assert.deepEqual(JSON.parse(sent), context);
    assert.equal('vigie-context' in other.headers, false);
  });

  it('that have expired are not read, however many exist', async () => {
    const clientId = randomUuid();
    await api.database.query(
      `insert into webhook_secrets (id, client_id, secret, expires_at)
       select gen_random_uuid(), $1, 'whsec_ended', now() - interval '1 minute' from generate_series(1, 5000)`,
      [clientId],
    );
    const { value } = await newSecret(api.database, clientId, 0);
    await api.database.query('analyze webhook_secrets');
    const connection = await api.database.connect();
    const rowsRead = async (): Promise<number> => {
      await connection.query('select pg_stat_force_next_flush()');
      const { rows } = await connection.query<{ count: number }>(
        `select (seq_tup_read + idx_tup_fetch)::integer as count from pg_stat_user_tables
         where relname = 'webhook_secrets'`,
      );
      return rows[0]?.count ?? Number.NaN;
    };
    try {
      const before = await rowsRead();
      assert.deepEqual(await readSigningSecrets(connection, clientId, new Date()), [value]);
      const read = (await rowsRead()) - before;
      assert.ok(read < 100, `${read} rows were read`);
    } finally {
      connection.release();
    }
  });

  it('are cached for seconds, removed from the cache when announced, and end on time', async () => {
    const clientId = randomUuid();
    let nowMs = 0;
    let asked = 0;
    const counted = { query: (...query: unknown[]) => (asked++, (api.database.query as CallableFunction)(...query)) };
    const secrets = rememberWebhookSecrets(counted as typeof api.database, () => nowMs);
    const signing = async (at: Date) => (await secrets.read([clientId])).flatMap(([, secretsAt]) => secretsAt(at));
    const now = new Date();
    assert.deepEqual(await signing(now), []);
    const { value: first } = await newSecret(api.database, clientId, 0);
    assert.deepEqual(await signing(now), [], 'as read before');
    assert.equal(asked, 1);
    secrets.forget();
    assert.deepEqual(await signing(now), [first]);
    const { value: second } = await newSecret(api.database, clientId, 1);
    nowMs += 5_000;
    assert.deepEqual(await signing(now), [first, second]);
    assert.deepEqual(await signing(new Date(Date.now() + 3_600_000)), [second], 'the older one has expired');
    assert.equal(asked, 3);
  });
});

function verify({ headers, body }: Pick<ReceivedPost, 'headers' | 'body'>, secret: string): void {
  new Webhook(secret).verify(body, headers);
}
