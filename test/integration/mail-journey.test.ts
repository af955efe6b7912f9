/** E-mails of a running daemon, from an advert to a real mail server and back through the unsubscribe link. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runVigie } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { assertGone, everyFile, everyMessage, everyRow } from '../support/erasure.ts';
import { startDaemonScene, startScene } from '../support/operator-scene.ts';
import { restClient } from '../support/rest-client.ts';
import { emptyDirectory } from '../support/servers.ts';
import { startSmtpReceiver } from '../support/smtp-receiver.ts';
import { until, untilIs } from '../support/until.ts';

const SETTINGS = {
  VIGIE_MAIL_FROM: 'Vigie <alerts@vigie.example>',
  VIGIE_PUBLIC_URL: 'https://vigie.example/api/',
  // Long enough to record, on a busy machine too, all adverts that a test publishes at once.
  VIGIE_MAIL_GATHER_MS: '3000',
};

interface FeedItem {
  readonly id: string;
  readonly sequence: number;
  readonly body: object;
}

interface DeliveryList {
  readonly 'hydra:member': readonly {
    readonly '@id': string;
    readonly channel: string;
    readonly status: string;
    readonly endpoint: string;
    readonly attempts: readonly { readonly statusCode: number }[];
  }[];
}

test('an advert is sent by webhook and by e-mail until the recipient unsubscribes, and the log contains no secrets', async (t) => {
  const password = 'p@ss/wörd';
  const users: string[] = [];
  const smtp = await startSmtpReceiver(t, {
    authOptional: false,
    disabledCommands: ['STARTTLS'],
    onAuth(auth, _session, reply) {
      users.push(`${auth.username}:${auth.password}`);
      reply(null, { user: 'me' });
    },
  });
  const url = `smtp://me:${encodeURIComponent(password)}@127.0.0.1:${smtp.port}`;
  const scene = await startScene(t, { ...SETTINGS, VIGIE_SMTP_URL: url });
  const rest = restClient(scene.daemon, scene.key);
  const address = 'jo.recipient@example.org';
  const notificationReplyTo = 'agence@example.org';
  const written = await rest.request('PUT', scene.search.iri, { notificationRecipient: address, notificationReplyTo });
  assert.equal(written.body.emailStatus, 'active');
  await scene.publishAdverts(3);
  await untilIs(() => smtp.mails.length, 1);
  const [mail] = smtp.mails;
  assert.deepEqual([mail?.to, users], [address, [`me:${password}`]]);
  assert.equal(mail?.parsed.subject, '3 nouveautés – Toulon');
  assert.equal(mail.parsed.replyTo?.text, notificationReplyTo);
  const deliveries = () => rest.request<DeliveryList>('GET', `/deliveries?search=${scene.search.iri}`);
  const { body } = await until(deliveries, (answer) => {
    const members = answer.body['hydra:member'];
    return members.length === 6 && members.every(({ status }) => status === 'delivered');
  });
  const byMail = body['hydra:member'].filter(({ channel }) => channel === 'email');
  assert.deepEqual(
    byMail.map(({ endpoint, attempts }) => [endpoint, attempts.map(({ statusCode }) => statusCode)]),
    Array.from({ length: 3 }, () => [`mailto:${address}`, [250]]),
  );
  const { items } = (await rest.request<{ items: readonly FeedItem[] }>('GET', '/feed')).body;
  const inFeed = items.map(({ id, sequence, body: told }) => [id, String(sequence), JSON.stringify(told)]);
  const posted = scene.receiver.posts.map(({ id, headers, body: bytes }) => [
    id,
    headers['vigie-sequence'],
    String(bytes),
  ]);
  assert.deepEqual(inFeed.toSorted(), posted.toSorted(), 'the feed has the webhooks');
  const one = await rest.request('GET', String(byMail[0]?.['@id']));
  assert.deepEqual([one.status, one.body.channel], [200, 'email']);

  const link = /https:\/\/vigie\.example\/api(\/unsubscribe\/[\w-]{22})/.exec(mail?.parsed.text ?? '')?.[1];
  assert.equal((await fetch(`${scene.daemon.apiUrl}${link}`)).status, 200);
  assert.equal((await rest.request('GET', scene.search.iri)).body.emailStatus, 'active');
  assert.equal((await fetch(`${scene.daemon.apiUrl}${link}`, { method: 'POST' })).status, 200);
  assert.equal((await rest.request('GET', scene.search.iri)).body.emailStatus, 'unsubscribed');
  await scene.publishAdverts(1);
  await until(deliveries, (answer) => answer.body['hydra:member'].length === 7);

  const metrics = await (await fetch(`${scene.daemon.operationsUrl}/metrics`)).text();
  assert.match(metrics, /^vigie_mail_attempts_total\{result="delivered"\} 1$/m);
  assert.match(metrics, /^vigie_mail_items_total 3$/m);
  const { stdout } = await runVigie(
    ['admin', 'deliveries', 'list', '--address', scene.daemon.adminAddress, '--search', scene.search.id],
    scene.servers,
  );
  assert.equal(stdout.split('\n').filter((line) => line.includes(`mailto:${address}`)).length, 3);
  assert.equal(await scene.daemon.end('SIGTERM'), 0);
  const logged = JSON.stringify(scene.daemon.log);
  for (const secret of ['jo.recipient', String(link), password, encodeURIComponent(password)]) {
    assert.ok(!logged.includes(secret), secret);
  }
});

test('no row, message, dead letter, file, log line or metric contains an erased recipient', async (t) => {
  const address = 'jo.gone@example.org';
  const smtp = await startSmtpReceiver(t);
  smtp.scriptRecipient(address, { code: 451, text: `4.2.1 <${address}> is asked to wait` });
  const dataDir = await emptyDirectory(t);
  const scene = await startDaemonScene(t, { ...SETTINGS, VIGIE_SMTP_URL: smtp.url, VIGIE_DATA_DIR: dataDir });
  scene.receiver.script('/hook', { type: 'answer', status: 500 });
  const rest = restClient(scene.daemon, scene.key);
  const written = await rest.request('PUT', scene.search.iri, {
    title: `For ${address}`,
    notificationRecipient: address,
    context: { note: `copy to ${address}` },
  });
  assert.equal(written.body.emailStatus, 'active');
  const database = connectDatabase(t, scene.servers.postgres.url);
  await scene.publishAdverts(2);
  await scene.publishPoison();
  await untilIs(
    async () => (await database.query("select state from mail_items where state = 'retry_wait'")).rows.length,
    2,
  );
  await untilIs(async () => (await database.query('select from dead_letters')).rows.length, 1);
  const path = `/recipients/${encodeURIComponent(address)}`;
  const stored = await rest.request<{ emails: readonly unknown[] }>('GET', path);
  assert.deepEqual([stored.status, stored.body.emails.length], [200, 1]);
  const shown = await runVigie(['recipients', 'show', address], scene.servers);
  assert.match(shown.stdout, /retry_wait|451/);
  assert.ok((await everyRow(database)).includes(address));
  assert.equal((await runVigie(['recipients', 'erase', address], scene.servers)).code, 0);
  assert.equal((await rest.request('DELETE', path)).status, 204);
  const metrics = await (await fetch(`${scene.daemon.operationsUrl}/metrics`)).text();
  assert.equal(await scene.daemon.end('SIGTERM'), 0);
  const logged = JSON.stringify(scene.daemon.log) + scene.daemon.errors.join('');
  const messages = await everyMessage(scene.servers.nats.url);
  assert.ok(messages.includes('portal.example'));
  for (const text of [await everyRow(database), messages, await everyFile(dataDir), logged, metrics]) {
    assertGone(text, address);
  }
});
