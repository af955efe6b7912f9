/** What e-mails say is what holds when they are written, and nothing counts as delivered that was not shown. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timeOrderedUuid, type Uuid } from '../../src/engine/domain/ids.ts';
import { insertMailItems } from '../../src/features/mail/mail.ts';
import type { MailReason } from '../../src/features/mail/mail-items.ts';
import { ADVERT, expireAt, upsertAt } from '../support/adverts.ts';
import { spaced } from '../support/mail-reader.ts';
import { holdProperty, type MailScene, mailItemOf, NEW_MATCH, openMailScene } from '../support/mail-scene.ts';
import { runStatements } from '../support/statements.ts';
import { until } from '../support/until.ts';

const cut = (from: number, to: number): MailReason => {
  const [oldValue, newValue] = [String(from), String(to)];
  return { type: 'event', kind: 'ad.update.price', oldValue, newValue, advertUuid: ADVERT };
};
const GONE: MailReason = { ...cut(0, 0), kind: 'ad.update.expired', oldValue: 'false', newValue: 'true' };
const flat = (propertyUuid: Uuid, price: number, minute = 0) =>
  upsertAt(minute, { propertyUuid, advert: { title: 'T3 vue mer', price, surface: 50 } });

/** A recipient with one search, and a property whose changes are recorded as they are published. */
async function openReader(scene: MailScene) {
  const search = await scene.newSearch(await scene.newClient('a'), 'jo@example.org');
  const property = timeOrderedUuid(new Date());
  return {
    search,
    async publish(history: Parameters<typeof holdProperty>[1][], ...reasons: MailReason[]): Promise<void> {
      await holdProperty(scene.database, ...history);
      const now = new Date();
      const items = reasons.map((reason) => mailItemOf(search, property, now, reason));
      await runStatements(scene.database, insertMailItems(items, now, 0));
    },
    flat: (price: number, minute = 0) => flat(property, price, minute),
    gone: (minute: number) => expireAt(minute, { propertyUuid: property }),
  };
}

/** Resolves with the texts of the e-mails that go until nothing waits. */
async function mailed(scene: MailScene): Promise<readonly string[]> {
  const before = scene.smtp.mails.length;
  const mailing = scene.start();
  await scene.untilAllEnded();
  await mailing.drain();
  return scene.smtp.mails.slice(before).map(({ parsed }) => spaced(parsed.text ?? ''));
}

test('a price is compared with that of the last e-mail that was delivered and showed it', async (t) => {
  const scene = await openMailScene(t);
  const reader = await openReader(scene);
  await reader.publish([reader.flat(300_000)], NEW_MATCH);
  assert.match((await mailed(scene)).join(), /^T3 vue mer\n.*\n300 000 €, 6 000 €\/m²/);

  const cuts = [reader.flat(300_000), reader.flat(280_000, 1), reader.flat(270_000, 2)];
  await reader.publish(cuts, cut(300_000, 280_000), cut(280_000, 270_000));
  scene.smtp.scriptMessage({ code: 554, text: '5.7.1 refused' });
  assert.deepEqual(await mailed(scene), []);
  scene.smtp.scriptMessage('accept');

  await reader.publish([...cuts, reader.gone(3)], GONE);
  assert.match((await mailed(scene)).join(), /^N'est plus en ligne : T3 vue mer\n/);
  const back = { ...cut(0, 0), kind: 'property.ad.update' as const, oldValue: null, newValue: null };
  await reader.publish([...cuts, reader.gone(3), reader.flat(260_000, 4)], back);
  assert.match((await mailed(scene)).join(), /300 000 € → 260 000 € \(−13,3 %\)/);
});

test('what says nothing is cancelled unsent, and its e-mail does not count for the day', async (t) => {
  const scene = await openMailScene(t);
  const reader = await openReader(scene);
  await reader.publish([reader.flat(300_000), reader.gone(1)], NEW_MATCH, GONE);
  assert.deepEqual(await mailed(scene), []);
  assert.deepEqual(await scene.counts(), [0, 0]);
  await scene.record(reader.search, 1);
  assert.equal((await mailed(scene)).length, 1);
  assert.deepEqual(await scene.counts(), [1, 1]);
  assert.deepEqual(await scene.states(), ['cancelled 0', 'cancelled 0', 'delivered 1']);
});

test('another attempt sends the same bytes, whatever has changed meanwhile', async (t) => {
  const scene = await openMailScene(t);
  const reader = await openReader(scene);
  await reader.publish([reader.flat(100_000)], NEW_MATCH);
  scene.smtp.scriptMessage({ code: 451, text: 'later' }, 'accept');
  const mailing = scene.start({ retryDelayMs: 600_000 });
  await until(scene.rows, ([row]) => row?.state === 'retry_wait');
  await mailing.drain();
  await holdProperty(scene.database, reader.flat(100_000), reader.flat(90_000, 1));
  await scene.database.query(`update mail_items set due_at = clock_timestamp() where state = 'retry_wait'`);
  await mailed(scene);
  const [first, again, ...others] = scene.smtp.messages;
  assert.match(first ?? '', /Message-ID/);
  assert.deepEqual([again, others], [first, []]);
});

const LONG = { url: `https://portal.example/${'a'.repeat(1_900)}` };
/** Numbers of the properties that an e-mail shows. */
const numbersIn = (html: string): readonly number[] =>
  [...html.matchAll(/<h1[^>]*>[^<]* (\d+)</g)].map(([, number]) => Number(number));

test('150 properties follow each other in e-mails below 90 KiB, and none counts as delivered before', async (t) => {
  const scene = await openMailScene(t);
  const search = await scene.newSearch(await scene.newClient('a'), 'jo@example.org');
  await scene.record(search, 150, { title: `Appartement ${'é'.repeat(180)}` });
  scene.smtp.scriptMessage({ code: 451, text: 'later' }, 'accept');
  const first = scene.start({ gatherMs: 600_000, retryDelayMs: 0 });
  await until(scene.rows, (rows) => rows.some(({ state }) => state === 'delivered'));
  await first.drain();
  const waiting = (await scene.rows()).filter(({ state }) => state === 'queued');
  const shown = numbersIn(scene.smtp.mails[0]?.parsed.html || '');
  assert.ok(shown.length > 30);
  assert.equal(waiting.length, 150 - shown.length);
  assert.ok(
    waiting.every(({ attempts, mail_id, due_at }) => attempts === 0 && mail_id === null && due_at > new Date()),
  );
  await scene.database.query(`update mail_items set due_at = now(), gathers_from = now() where state = 'queued'`);
  await mailed(scene);
  const pages = scene.smtp.mails.map(({ parsed }) => parsed.html || '');
  assert.deepEqual(
    pages.flatMap(numbersIn).sort((a, b) => a - b),
    Array.from({ length: 150 }, (_, at) => at),
  );
  assert.ok(
    pages.slice(0, -1).every((html) => Buffer.byteLength(html) > 80 * 1_024),
    'they are full',
  );
  for (const html of pages) {
    assert.ok(Buffer.byteLength(html) < 90 * 1_024);
    assert.match(html, /\/unsubscribe\//);
    assert.doesNotMatch(html, /autres biens/);
  }
});

test('of a morning there are three e-mails, the last of which counts the others', async (t) => {
  const scene = await openMailScene(t);
  const client = await scene.newClient('a');
  const search = await scene.newSearch(client, 'jo@example.org', { notificationFrequency: 'daily' });
  await scene.record(search, 120, { ...LONG, now: new Date(Date.now() - 3 * 86_400_000) });
  await mailed(scene);
  const pages = scene.smtp.mails.map(({ parsed }) => parsed.html || '');
  const shown = pages.flatMap(numbersIn).length;
  assert.deepEqual(
    pages.map((html) => /Et \d+ autres biens\./.exec(html)?.[0]),
    [undefined, undefined, `Et ${120 - shown} autres biens.`],
  );
  assert.deepEqual(new Set(await scene.states()), new Set(['delivered 1']));
  assert.ok(Buffer.byteLength(pages[2] as string) < 90 * 1_024);
});

test('an e-mail that is tried again with other items is written anew, within its bounds', async (t) => {
  const scene = await openMailScene(t);
  const search = await scene.newSearch(await scene.newClient('a'), 'jo@example.org');
  await scene.record(search, 40, LONG);
  assert.ok(await scene.claim({ leaseMs: 1 }));
  // Its process died before it was written.
  await mailed(scene);
  assert.equal(scene.smtp.mails.flatMap(({ parsed }) => numbersIn(parsed.html || '')).length, 40);
  const { rows } = await scene.database.query(
    `select distinct state, attempt_count - attempts_spent as spent, attempt_count as count,
       (select count(*)::integer from attempts where delivery_id = id) as logged from mail_items order by spent desc`,
  );
  assert.deepEqual(rows, [
    { state: 'delivered', spent: 2, count: 2, logged: 2 },
    { state: 'delivered', spent: 1, count: 2, logged: 2 },
  ]);
});
