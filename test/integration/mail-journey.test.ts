/** E-mails of a running daemon, from an advert to a real mail server and back through the unsubscribe link. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectTestBroker } from '../support/broker.ts';
import { createApiKey, runVigie } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { assertGone, everyFile, everyMessage, everyRow } from '../support/erasure.ts';
import { recorded, take } from '../support/feed-scene.ts';
import { spaced } from '../support/mail-reader.ts';
import { startDaemonScene, startScene } from '../support/operator-scene.ts';
import { polirisFile } from '../support/poliris.ts';
import { restClient } from '../support/rest-client.ts';
import { emptyDirectory, startTestServers } from '../support/servers.ts';
import { startHere } from '../support/service.ts';
import { startSmtpReceiver } from '../support/smtp-receiver.ts';
import { until, untilIs } from '../support/until.ts';

const SETTINGS = {
  VIGIE_MAIL_FROM: 'Vigie <alerts@vigie.example>',
  VIGIE_PUBLIC_URL: 'https://vigie.example/api/',
  VIGIE_MAIL_GATHER_MS: '500',
};

interface DeliveryList {
  readonly 'hydra:member': readonly {
    readonly '@id': string;
    readonly channel: string;
    readonly status: string;
    readonly endpoint: string;
    readonly attempts: readonly { readonly statusCode: number }[];
  }[];
}

test('an advert goes out by webhook and by e-mail, until the recipient unsubscribes, and the log keeps secrets', async (t) => {
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

test('119 adverts of an agency’s file are one e-mail: twenty with a contact, the others counted; its next file says what changed', async (t) => {
  const [smtp, servers] = [await startSmtpReceiver(t), await startTestServers(t)];
  const settings = { ...SETTINGS, VIGIE_MAIL_GATHER_MS: '3600000', VIGIE_SMTP_URL: smtp.url };
  const daemon = await startHere(t, servers, settings);
  const [database, broker] = [connectDatabase(t, servers.postgres.url), await connectTestBroker(t, servers.nats.url)];
  const scene = { servers, daemon, database, broker };
  await restClient(daemon, await createApiKey(servers)).createSearch({
    ...{ title: 'Dossier 4711', publicTitle: 'Toulon', includedZipcodes: ['83000'], roomMin: 3, budgetMax: 300_000 },
    ...{
      notificationEnabled: true,
      notificationRecipient: 'jo@example.org',
      notificationReplyTo: 'agence@example.org',
    },
    subscribedEvents: ['ad.update.price'],
  });
  const row = (number: number, price: number) => ({
    ...{
      1: 'AG1',
      2: `R${number}`,
      3: 'Vente',
      4: 'Appartement',
      5: '83000',
      6: 'Toulon',
      11: String(price),
      16: '62',
    },
    ...{
      18: '3',
      20: `T3 vue mer ${number}`,
      105: '04 94 00 00 00',
      106: 'Agence du Port',
      107: 'contact@agence.example',
    },
  });
  const prices = Array.from({ length: 119 }, () => 250_000);
  const mailed = async () => {
    const before = smtp.mails.length;
    await take(scene, 'agence', polirisFile(prices.map((price, number) => row(number, price))));
    await recorded(scene);
    await database.query(`update mail_items set due_at = now() where state = 'queued'`);
    await until(
      () => database.query(`select from mail_items where state <> 'delivered'`),
      ({ rowCount }) => rowCount === 0,
    );
    assert.equal(smtp.mails.length, before + 1);
    return smtp.mails.at(-1)?.parsed ?? assert.fail();
  };
  const first = await mailed();
  const html = spaced(first.html || '');
  assert.equal(spaced(first.subject ?? ''), '119 nouveautés – Toulon');
  assert.equal(html.split('<h2').length - 1, 20);
  assert.equal(html.split('<a href="tel:0494000000"').length - 1, 20);
  assert.match(html, /Et 99 autres biens\. <a href="https:\/\/vigie\.example\/api\/unsubscribe\//);
  assert.match(
    spaced(first.text ?? ''),
    /^119 nouveautés – Toulon\n\nToulon\nTous les biens, 83000, à partir de 3 pièces, jusqu'à 300 000 €\n\nRépondez/,
  );
  assert.match(first.text ?? '', /^Agence du Port\n04 94 00 00 00\ncontact@agence\.example\nRéférence R\d+$/m);
  assert.doesNotMatch(first.text + html, /4711/);
  assert.ok(Buffer.byteLength(html) < 90 * 1_024);
  prices.splice(0, 3, 240_000, 225_000, 249_000);
  prices.push(199_000);
  const second = await mailed();
  assert.equal(spaced(second.subject ?? ''), '1 nouveauté et 3 baisses de prix – Toulon');
  const shown = [...(second.html || '').matchAll(/<h2[^>]*>T3 vue mer (\d+)</g)].map(([, number]) => Number(number));
  assert.deepEqual(shown, [119, 1, 0, 2], 'the match, then price cuts by percent');
});

test('who is erased is found nowhere: no row, message, dead letter, file, line of the log, or metric', async (t) => {
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
