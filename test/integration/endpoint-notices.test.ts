/** A client is notified of endpoints that are about to be paused, and of paused ones (decisions, section 6). */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endpointKeyOf } from '../../src/engine/domain/endpoint.ts';
import type { Uuid } from '../../src/engine/domain/ids.ts';
import { updateClientSettings } from '../../src/engine/store/clients.ts';
import { pauseDeadEndpoints, resumeEndpoint } from '../../src/engine/store/endpoints.ts';
import { sendEndpointNotices } from '../../src/features/mail/endpoint-notices.ts';
import { createMailSender } from '../../src/features/mail/mail-sender.ts';
import { openMailScene } from '../support/mail-scene.ts';
import type { Cleanup } from '../support/servers.ts';

const DAYS = 3;
const OPS = 'ops@client.example';

/** The endpoint of one client answers. Otherwise the network would count as the cause of the others' failures. */
async function openScene(cleanup: Cleanup, language: 'fr' | 'en' = 'en') {
  const { database, smtp, newClient } = await openMailScene(cleanup);
  const healthy = await newClient('Healthy');
  await database.query(`insert into endpoints (key, url, last_success_at) values ($1, 'https://up.example/', now())`, [
    endpointKeyOf(healthy, 'https://up.example/'),
  ]);
  return {
    database,
    smtp,
    async client(name: string, noticeAddress: string | null = OPS): Promise<Uuid> {
      const id = await newClient(name);
      await updateClientSettings(database, id, { noticeAddress });
      return id;
    },
    async fail(client: Uuid, url: string, hours: number, failures = 30): Promise<string> {
      const key = endpointKeyOf(client, url);
      await database.query(
        `insert into endpoints (key, url, failure_streak, failing_since, last_failure_at, last_error)
         values ($1, $2, $4, now() - $3 * interval '1 hour', now(), 'connect')
         on conflict (key) do update set failure_streak = $4, failing_since = excluded.failing_since,
           last_failure_at = now()`,
        [key, url, hours, failures],
      );
      await pauseDeadEndpoints(database, [key], DAYS);
      return key;
    },
    anHourLater: () => database.query(`update clients set notice_tried_at = notice_tried_at - interval '61 minutes'`),
    /** Runs the notices once and resolves with the texts of the e-mails. */
    async notices(): Promise<readonly string[]> {
      const before = smtp.mails.length;
      const sender = createMailSender({ url: smtp.url });
      const from = { name: 'Vigie', address: 'alerts@vigie.example' };
      const rest = { language, pauseDays: DAYS, gate: { isOpen: true }, drainTimeoutMs: 1_000 };
      const reports = { onNotice: () => undefined, onTransientError: () => undefined };
      await sendEndpointNotices({ database, sender, from, ...rest, ...reports }, new AbortController().signal);
      return smtp.mails.slice(before).map(({ to, parsed }) => `${to}: ${parsed.subject}\n${parsed.text}`);
    },
  };
}

test('one e-mail names all endpoints of a client, each once at half the time and once at the pause', async (t) => {
  const { client, fail, notices, anHourLater, database } = await openScene(t);
  const acme = await client('Acme');
  const other = await client('Other', null);
  await fail(acme, 'https://half.example/hook?token=secret', 37);
  await fail(acme, 'https://dead.example/hook', 73);
  await fail(acme, 'https://young.example/hook', 35);
  await fail(acme, 'https://few.example/hook', 100, 9);
  await fail(other, 'https://theirs.example/hook', 73);
  const [text = '', ...more] = await notices();
  assert.deepEqual(more, []);
  assert.match(text, /^ops@client\.example: Webhooks for Acme: endpoints have been paused$/m);
  assert.match(text, /https:\/\/dead\.example\/hook\s+paused since .* nothing is lost\s+last failure: connect/);
  assert.match(text, /https:\/\/half\.example\/hook\s+has been failing since .*; will be paused on /);
  assert.doesNotMatch(text, /secret|young|few|theirs/);
  await anHourLater();
  assert.deepEqual(await notices(), []);
  await fail(acme, 'https://half.example/hook?token=secret', 73);
  assert.match((await notices()).join(), /half\.example\/hook\s+paused since/);
  // Failures after a success count as a new series.
  const { rows } = await database.query<{ key: string }>(`select key from endpoints where url like '%dead%'`);
  await resumeEndpoint(database, rows[0]?.key ?? '', 'client');
  await database.query(`update endpoints set noticed_at = noticed_at - interval '9 days' where url like '%dead%'`);
  await fail(acme, 'https://dead.example/hook', 40);
  await anHourLater();
  assert.match((await notices()).join(), /endpoints are failing\n[^]*dead\.example/);
});

test('an e-mail that the server refuses is sent again after an hour, and later notices wait with it', async (t) => {
  const { client, fail, notices, anHourLater, smtp } = await openScene(t);
  const acme = await client('Acme');
  await fail(acme, 'https://one.example/', 73);
  smtp.scriptMessage({ code: 451 }, 'accept');
  assert.deepEqual(await notices(), []);
  assert.deepEqual(await notices(), [], 'not before an hour has passed');
  await anHourLater();
  await fail(acme, 'https://two.example/', 73);
  assert.match((await notices()).join(), /endpoints have been paused[^]*one\.example[^]*two\.example/);
  await fail(acme, 'https://three.example/', 73);
  assert.deepEqual(await notices(), []);
  await anHourLater();
  assert.match((await notices()).join(), /endpoints have been paused\n[^]*three\.example/);
});

test('twenty of many endpoints are named and the others counted, in the language of e-mails', async (t) => {
  const { client, fail, notices } = await openScene(t, 'fr');
  const acme = await client('Agence\r\nBcc: x@y.example');
  for (let number = 10; number < 35; number++) await fail(acme, `https://e${number}.example/`, 73);
  const [text = ''] = await notices();
  assert.match(text, /Webhooks de Agence Bcc: x@y\.example : adresses suspendues/);
  assert.equal(text.match(/suspendue depuis le/g)?.length, 20);
  assert.match(text, /Et 5 autres\./);
});

test('while no endpoint answers, the network counts as the cause, and no notice is sent', async (t) => {
  const { client, fail, notices, database } = await openScene(t);
  await database.query(`update endpoints set last_success_at = now() - interval '9 days'`);
  const acme = await client('Acme');
  for (const url of ['https://one.example/', 'https://two.example/']) await fail(acme, url, 40);
  assert.deepEqual(await notices(), []);
  await database.query(`update endpoints set last_success_at = now() where url like '%up%'`);
  assert.match((await notices()).join(), /endpoints are failing/);
});
