/** E-mails of a running daemon, from an advert to a real mail server and back by the link to unsubscribe. */

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { generate } from 'selfsigned';
import { createApiKey, runVigie, startDaemon } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { startDaemonScene } from '../support/operator-scene.ts';
import { restClient } from '../support/rest-client.ts';
import { startTestServers, temporaryDirectory } from '../support/servers.ts';
import { startSmtpReceiver } from '../support/smtp-receiver.ts';
import { until } from '../support/until.ts';

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

test('an advert goes out by webhook and by e-mail, until the recipient unsubscribes', async (t) => {
  const smtp = await startSmtpReceiver(t);
  const scene = await startDaemonScene(t, { ...SETTINGS, VIGIE_SMTP_URL: smtp.url });
  const rest = restClient(scene.daemon, scene.key);
  const address = 'jo.recipient@example.org';
  const written = await rest.request('PUT', scene.search.iri, { notificationRecipient: address });
  assert.equal(written.body.emailStatus, 'active');
  await scene.publishAdverts(3);
  await until(
    async () => smtp.mails.length,
    (count) => count === 1,
  );
  const [mail] = smtp.mails;
  assert.equal(mail?.to, address);
  assert.equal(mail?.parsed.subject, '3 biens pour « Toulon »');
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
  const logged = JSON.stringify(scene.daemon.log) + scene.daemon.errors.join('');
  assert.ok(!logged.includes('jo.recipient'));
  assert.ok(!logged.includes(String(link)));
});

test('a mail server with a password is spoken to encrypted, and the password is told to nobody', async (t) => {
  const password = 'p@ss/wörd';
  const pems = await generate([{ name: 'commonName', value: 'localhost' }], {
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }],
  });
  const folder = await temporaryDirectory('mail');
  const authority = join(folder, 'ca.pem');
  await writeFile(authority, pems.cert);
  const users: string[] = [];
  const smtp = await startSmtpReceiver(t, {
    secure: true,
    key: pems.private,
    cert: pems.cert,
    authOptional: false,
    onAuth(auth, _session, reply) {
      users.push(`${auth.username}:${auth.password}`);
      const isRight = auth.password === password;
      reply(
        isRight ? null : Object.assign(new Error('no'), { responseCode: 535 }),
        isRight ? { user: 'me' } : undefined,
      );
    },
  });
  const servers = await startTestServers(t);
  const urlWith = (secret: string) => `smtps://me:${encodeURIComponent(secret)}@127.0.0.1:${smtp.port}`;
  const settings = { ...SETTINGS, NODE_EXTRA_CA_CERTS: authority, VIGIE_RETRY_DELAY_MS: '1000' };
  const wrong = await startDaemon(t, servers, { ...settings, VIGIE_SMTP_URL: urlWith('wrong-secret') });
  const key = await createApiKey(servers);
  const rest = restClient(wrong, key);
  await rest.createSearch({ title: 'x', notificationEnabled: true, notificationRecipient: 'jo@example.org' });
  const advert = { uuid: '0b8f5c1e-6f0a-4b57-9f5e-0d6c2c1f7a02', title: 'T3', price: 250_000 };
  const property = { uuid: '0b8f5c1e-6f0a-4b57-9f5e-0d6c2c1f7a01', transactionType: 0 };
  const message = { kind: 'upsert', crawledAt: new Date().toISOString(), property, advert };
  await runVigie(['publish'], servers, { input: `${JSON.stringify(message)}\n` });
  const database = connectDatabase(t, servers.postgres.url);
  await until(
    async () => (await database.query("select status_code from attempts where error = 'status'")).rows,
    ([row]) => row?.status_code === 535,
  );
  assert.equal(await wrong.end('SIGTERM'), 0);
  const right = await startDaemon(t, servers, { ...settings, VIGIE_SMTP_URL: urlWith(password) });
  await until(
    async () => smtp.mails.length,
    (count) => count === 1,
  );
  assert.ok(users.includes(`me:${password}`));
  assert.equal(await right.end('SIGTERM'), 0);
  const { rows } = await database.query('select reason, response_head from attempts');
  const told = JSON.stringify([wrong.log, wrong.errors, right.log, right.errors, rows]);
  for (const secret of [password, encodeURIComponent(password), 'wrong-secret']) assert.ok(!told.includes(secret));
});
