/** The one e-mail that asks whether an unsubscription still holds (decisions, section 12). */

import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import type { Search } from '../../src/engine/domain/search.ts';
import { deleteSearch } from '../../src/engine/store/searches.ts';
import { removeMailRecipients, removeMailTokens } from '../../src/features/mail/mail.ts';
import { askConfirmation, readSubscriptions, unsubscribe } from '../../src/features/mail/mail-recipients.ts';
import { type MailScene, openMailScene } from '../support/mail-scene.ts';
import { startSmtpReceiver } from '../support/smtp-receiver.ts';
import { until } from '../support/until.ts';

const tokenIn = (text = ''): string => /unsubscribe\/[0-9a-f]{12}\.([\w-]{22})/.exec(text)?.[1] ?? '';

/** Resolves once the recipient of the search has had an e-mail, and wants none any more. */
async function leave(scene: MailScene, search: Search): Promise<void> {
  await scene.record(search, 1);
  const mailing = scene.start();
  await scene.untilAllEnded();
  await mailing.drain();
  assert.equal(await unsubscribe(scene.database, tokenIn(scene.smtp.mails.at(-1)?.parsed.text)), true);
}

async function confirmations(scene: MailScene) {
  const { rows } = await scene.database.query<{ isOpen: boolean; attempts: number; hasLetter: boolean }>(
    `select confirmation_due_at is not null as "isOpen", confirmation_attempts as attempts,
       confirmation_letter is not null as "hasLetter" from mail_recipients where confirmation_id is not null`,
  );
  return rows;
}

const untilClosed = (scene: MailScene) =>
  until(
    () => confirmations(scene),
    (rows) => rows.every(({ isOpen }) => !isOpen),
  );

test('a recipient is asked once, by an e-mail whose link leads to where e-mails are taken back', async (t) => {
  const scene = await openMailScene(t);
  const search = await scene.newSearch(await scene.newClient('once'), 'once@example.org', { title: 'T3 <Toulon>' });
  await leave(scene, search);
  const sent = scene.smtp.mails.length;
  assert.equal(await askConfirmation(scene.database, search.id, new Date()), true);
  const mailing = scene.start();
  assert.deepEqual(await untilClosed(scene), [{ isOpen: false, attempts: 1, hasLetter: false }]);
  assert.equal(await askConfirmation(scene.database, search.id, new Date()), false);
  await mailing.drain();
  assert.equal(scene.smtp.mails.length, sent + 1);
  const { to, parsed } = scene.smtp.mails.at(-1) as (typeof scene.smtp.mails)[number];
  assert.equal(to, 'once@example.org');
  assert.equal(parsed.subject, 'Recevoir à nouveau les annonces de « T3 <Toulon> » ?');
  assert.match(String(parsed.html), /« T3 &lt;Toulon&gt; »/);
  assert.match(parsed.text ?? '', /rien ne change, et cette question ne sera plus posée/);
  const token = tokenIn(parsed.text);
  assert.deepEqual([...(await readSubscriptions(scene.database, [token]))], [[token, 'unsubscribed']]);
});

test('it is tried six times, with the same bytes, and then no more', async (t) => {
  const letters: string[] = [];
  const busy = await startSmtpReceiver(t, {
    onData(stream, _session, reply) {
      void text(stream).then((letter) => {
        letters.push(letter);
        reply(Object.assign(new Error('busy'), { responseCode: 451 }));
      });
    },
  });
  const scene = await openMailScene(t);
  const search = await scene.newSearch(await scene.newClient('busy'), 'busy@example.org');
  await leave(scene, search);
  await askConfirmation(scene.database, search.id, new Date());
  const mailing = scene.start({ sender: { url: busy.url } });
  assert.deepEqual(await untilClosed(scene), [{ isOpen: false, attempts: 6, hasLetter: false }]);
  await mailing.drain();
  assert.deepEqual([letters.length, new Set(letters).size], [6, 1]);
  const outcomes = scene.settled.filter(({ outcome }) => outcome.statusCode === 451).map(({ after }) => after.state);
  assert.deepEqual(outcomes, [...Array.from({ length: 5 }, () => 'retry_wait'), 'failed']);
});

test('nobody is asked whose search has gone, and that a recipient was asked is kept', async (t) => {
  const scene = await openMailScene(t);
  const client = await scene.newClient('gone');
  const search = await scene.newSearch(client, 'gone@example.org');
  await leave(scene, search);
  await askConfirmation(scene.database, search.id, new Date());
  await deleteSearch(scene.database, client, search.id, () => undefined);
  const sent = scene.smtp.mails.length;
  const mailing = scene.start();
  await untilClosed(scene);
  await mailing.drain();
  assert.equal(scene.smtp.mails.length, sent);
  await scene.database.query('update mail_recipients set unsubscribed_at = null');
  await scene.database.query(`update mail_tokens set created_at = now() - interval '2 years'`);
  for await (const _ of removeMailTokens(scene.database));
  for await (const _ of removeMailRecipients(scene.database));
  assert.equal((await confirmations(scene)).length, 1);
});

test('a client that is being moved, or lives in another cell, asks nobody here', async (t) => {
  const scene = await openMailScene(t);
  const client = await scene.newClient('moved');
  const search = await scene.newSearch(client, 'moved@example.org');
  await leave(scene, search);
  await askConfirmation(scene.database, search.id, new Date());
  await scene.database.query(`update clients set moved_to = 'other'`);
  const other = await scene.newSearch(await scene.newClient('here'), 'here@example.org');
  await scene.record(other, 1);
  const mailing = scene.start();
  await scene.untilAllEnded();
  await mailing.drain();
  assert.deepEqual(await confirmations(scene), [{ isOpen: true, attempts: 0, hasLetter: false }]);
});
