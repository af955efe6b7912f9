/** Which items are recorded for e-mails. Nothing is sent later for a period without e-mails (decisions, 12). */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRoutes } from '../../src/engine/store/search-routes.ts';
import {
  removeMailboxCounts,
  removeMailItems,
  removeMailRecipients,
  removeMailTokens,
  requeueMailItem,
} from '../../src/features/mail/mail.ts';
import { valuesOf } from '../support/lists.ts';
import { openMailScene } from '../support/mail-scene.ts';

test('no e-mail is recorded for a refused or unsubscribed address, or without a mail server', async (t) => {
  const { database, ...scene } = await openMailScene(t);
  const names = ['active', 'daily', 'refused', 'unsubscribed'];
  const searches = await Promise.all(
    names.map((name) =>
      scene.newSearch(`${name}@example.org`, { notificationFrequency: name === 'daily' ? 'daily' : 'instant' }),
    ),
  );
  const [active, daily, refused] = searches;
  await database.query('update searches set mail_refused_at = now() where number = $1', [refused?.number]);
  await database.query(
    `insert into mail_choices (recipient_key, client_id, kind, scope, value, at)
     values (mail_key_of($1, 'Unsubscribed@example.org'), $1, 'unsubscription', 'sender', 'true', now())`,
    [scene.client],
  );
  const numbers = searches.map(({ number }) => number);
  const mailOf = async (withMail: boolean) => {
    const routes = await readRoutes(database, { numbers, horizon: null, withMail });
    return numbers.map((number) => routes.get(number)?.mail ?? null);
  };
  assert.deepEqual(await mailOf(true), [
    { address: 'active@example.org', key: active?.mail.key, frequency: 'instant', hasConsent: false },
    { address: 'daily@example.org', key: daily?.mail.key, frequency: 'daily', hasConsent: false },
    ...[null, null],
  ]);
  assert.deepEqual(
    await mailOf(false),
    numbers.map(() => null),
  );
});

test('an item waits for seven o’clock in Paris, even on days of a clock change, and joins no earlier e-mail', async (t) => {
  const scene = await openMailScene(t);
  const mornings = {
    daily: [
      ['2055-01-15T05:59:59.999Z', '2055-01-15T06:00:00.000Z'],
      ['2055-01-15T06:00:00.000Z', '2055-01-16T06:00:00.000Z'],
      ['2055-07-15T04:59:00.000Z', '2055-07-15T05:00:00.000Z'],
      ['2055-07-15T22:30:00.000Z', '2055-07-16T05:00:00.000Z'],
      // Clocks are set forward on 28 March 2055 at 01:00 UTC, and back on 31 October.
      ['2055-03-27T12:00:00.000Z', '2055-03-28T05:00:00.000Z'],
      ['2055-03-27T23:30:00.000Z', '2055-03-28T05:00:00.000Z'],
      ['2055-10-30T12:00:00.000Z', '2055-10-31T06:00:00.000Z'],
      ['2055-12-31T23:30:00.000Z', '2056-01-01T06:00:00.000Z'],
    ],
    weekly: [
      ['2055-03-08T05:59:00.000Z', '2055-03-08T06:00:00.000Z'],
      ['2055-03-08T06:00:00.000Z', '2055-03-15T06:00:00.000Z'],
      // Sunday night in UTC is already Monday in Paris.
      ['2055-03-14T23:30:00.000Z', '2055-03-15T06:00:00.000Z'],
      ['2055-03-23T12:00:00.000Z', '2055-03-29T05:00:00.000Z'],
    ],
  } as const;
  for (const frequency of ['daily', 'weekly'] as const) {
    const search = await scene.newSearch('jo@example.org', { notificationFrequency: frequency });
    for (const [now, morning] of mornings[frequency]) {
      const [id] = await scene.record(search, 1, { now: new Date(now) });
      const { rows } = await scene.database.query('select due_at, gathers_from from mail_items where id = $1', [id]);
      assert.deepEqual(rows, [{ due_at: new Date(morning), gathers_from: new Date(morning) }], now);
    }
  }
  assert.equal(await scene.claim(), null);
});

test('an operator’s retry gathers a failed item again, and makes a whole waiting e-mail due', async (t) => {
  const scene = await openMailScene(t);
  const { database } = scene;
  const search = await scene.newSearch('jo@example.org');
  const [failed, first, second] = await scene.record(search, 3, { gatherMs: 60_000 });
  assert.ok(failed && first && second);
  await database.query("update mail_items set state = 'failed', attempt_count = 6, finished_at = now() where id = $1", [
    failed,
  ]);
  await database.query(
    `update mail_items set state = 'retry_wait', attempt_count = 1, mail_id = $1, due_at = now() + interval '1 hour'
     where id in ($1, $2)`,
    [first, second],
  );
  assert.deepEqual(await requeueMailItem(database, failed), { state: 'failed', isChanged: true });
  assert.deepEqual(await requeueMailItem(database, second), { state: 'retry_wait', isChanged: true });
  scene.start();
  assert.deepEqual((await scene.ended()).toSorted(), ['delivered 2', 'delivered 2', 'delivered 7']);
  assert.equal(scene.smtp.mails.length, 2);
  assert.deepEqual(await requeueMailItem(database, failed), { state: 'delivered', isChanged: false });
});

test('expired items are removed, but neither unsubscriptions nor waiting items', async (t) => {
  const scene = await openMailScene(t);
  const { database } = scene;
  const old = new Date(Date.now() - 40 * 86_400_000);
  const search = await scene.newSearch('jo@example.org');
  const leaving = await scene.newSearch('leaving@example.org');
  for (const each of [search, leaving]) await scene.record(each, 1, { now: old });
  for (const _ of [search, leaving]) assert.ok(await scene.claim({ leaseMs: 1, now: old }));
  await database.query(`update mail_items set state = 'delivered', finished_at = $1`, [old]);
  const [waiting] = await scene.record(search, 1, { now: old, gatherMs: 60_000 });
  await database.query("insert into mail_choices values ($1, $2, 'unsubscription', 'sender', 'true', now())", [
    leaving.mail.key,
    scene.client,
  ]);
  const sweep = async (...batches: AsyncGenerator[]) => {
    for (const each of batches) for await (const _ of each);
  };
  const horizon = new Date(Date.now() - 30 * 86_400_000);
  await sweep(removeMailItems(database, horizon), removeMailTokens(database), removeMailRecipients(database));
  assert.deepEqual(valuesOf(await scene.rows(), 'id'), [waiting]);
  const count = async (table: string) => (await database.query(`select from ${table}`)).rowCount;
  assert.deepEqual([await count('mail_tokens'), await count('mail_recipients')], [2, 2]);
  await database.query(`update mail_tokens set created_at = now() - interval '400 days'`);
  await database.query(`update mail_items set due_at = $1`, [old]);
  await sweep(removeMailItems(database, horizon), removeMailTokens(database), removeMailRecipients(database));
  assert.deepEqual([await count('mail_items'), await count('mail_tokens'), await count('mail_recipients')], [0, 0, 1]);
  await database.query("insert into mail_mailboxes values ('old', current_date - 2, 1), ('new', current_date - 1, 1)");
  await sweep(removeMailboxCounts(database));
  assert.equal(await count('mail_mailboxes'), 1);
});
