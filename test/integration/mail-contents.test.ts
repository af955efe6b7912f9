/** E-mails contain the facts at the time of writing, and an item that no e-mail showed never counts as delivered. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timeOrderedUuid, type Uuid } from '../../src/engine/domain/ids.ts';
import { updateSearch } from '../../src/engine/store/searches.ts';
import { insertMailItems } from '../../src/features/mail/mail.ts';
import type { MailReason } from '../../src/features/mail/mail-items.ts';
import { ADVERT, expireAt, NO_CONTACT, upsertAt } from '../support/adverts.ts';
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

/** A recipient with one search, and a property whose changes are recorded when they are published. */
async function openReader(scene: MailScene) {
  const search = await scene.newSearch('jo@example.org');
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

/** Sends until no item waits, and resolves with the texts of the e-mails. */
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
  assert.match((await mailed(scene)).join(), /^T3 vue mer\n.*\n300 000 €, 6 000 €\/m²/m);

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

test('an e-mail without news is cancelled unsent, and does not count for the day', async (t) => {
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

test('an e-mail with a contact that waits for a retry is written again when a search begins to hide contacts', async (t) => {
  const scene = await openMailScene(t);
  const reader = await openReader(scene);
  const contact = { ...NO_CONTACT, agency: 'Agence', phone: '04 94 00 00 00', reference: 'R1' };
  const home = reader.flat(100_000);
  await reader.publish([{ ...home, advert: { ...home.advert, contact } }], NEW_MATCH);
  scene.smtp.scriptMessage({ code: 451, text: 'later' }, { code: 451, text: 'later' }, 'accept');
  const retry = async () => {
    const mailing = scene.start({ retryDelayMs: 600_000 });
    const before = scene.smtp.messages.length;
    await scene.database.query('update mail_items set due_at = clock_timestamp()');
    await until(
      async () => (await scene.rows())[0]?.state,
      (state) => state !== 'sending' && scene.smtp.messages.length > before,
    );
    await mailing.drain();
  };
  await retry();
  await retry();
  await updateSearch(scene.database, reader.search.clientId, reader.search.id, {
    merge: ({ members }) => ({ ...members, hidePropertyContact: true }),
  });
  await retry();
  const [first, again, last] = scene.smtp.messages;
  assert.match(first ?? '', /04 94 00 00 00/);
  assert.equal(again, first);
  assert.doesNotMatch(last ?? '', /04 94|R1/);
  assert.equal(/^Message-ID: .*$/m.exec(last ?? '')?.[0], /^Message-ID: .*$/m.exec(first ?? '')?.[0]);
});

/** The numbers of the properties that an e-mail shows. */
const numbersIn = (html: string): readonly number[] =>
  [...html.matchAll(/<h[12][^>]*>[^<]* (\d+)</g)].map(([, number]) => Number(number));

test('150 properties are one e-mail below 90 KiB: twenty are shown, the others counted with a link, all delivered', async (t) => {
  const scene = await openMailScene(t);
  for (const [name, notificationFrequency] of [
    ['jo', 'instant'],
    ['al', 'daily'],
  ] as const) {
    const search = await scene.newSearch(`${name}@example.org`, { notificationFrequency });
    const now = new Date(Date.now() - 3 * 86_400_000);
    const url = `https://portal.example/${'a'.repeat(1_900)}`;
    await scene.record(search, 150, { now, title: `Appartement ${'é'.repeat(60)}`, url });
  }
  scene.smtp.scriptMessage({ code: 451, text: 'later' }, 'accept');
  await mailed(scene);
  assert.equal(scene.smtp.mails.length, 2);
  assert.deepEqual(new Set(await scene.states()), new Set(['delivered 1', 'delivered 2']));
  for (const { parsed } of scene.smtp.mails) {
    const html = parsed.html || '';
    assert.equal(new Set(numbersIn(html)).size, 20);
    assert.ok(Buffer.byteLength(html) < 90 * 1_024);
    const [, link] = /Et 130 autres biens\. <a href="([^"]+)"/.exec(html) ?? [];
    assert.match(link ?? '', /^https:\/\/vigie\.example\/unsubscribe\/[\w-]{22}$/);
    assert.ok(parsed.text?.includes(`Et 130 autres biens. Voir tous les biens de cet e-mail : ${link}`));
  }
});

test('matches come first, then price cuts by percent, and properties that do not fit are counted', async (t) => {
  const scene = await openMailScene(t);
  const search = await scene.newSearch('jo@example.org');
  const now = new Date();
  const reasons = [
    ...Array.from({ length: 10 }, (_, at) => cut(100_000, 99_000 - 1_000 * at)),
    { ...cut(0, 0), kind: 'ad.update.pictures' as const },
    ...Array.from({ length: 11 }, () => NEW_MATCH),
  ];
  for (const [number, reason] of reasons.entries()) {
    const item = mailItemOf(search, timeOrderedUuid(now), new Date(now.getTime() + number), reason);
    const advert = { title: `T3 ${number}`, price: 99_000 - 1_000 * Math.min(number, 9) };
    await holdProperty(scene.database, upsertAt(0, { propertyUuid: item.propertyUuid, advert }));
    await runStatements(scene.database, insertMailItems([item], now, 0));
  }
  await mailed(scene);
  const shown = numbersIn(scene.smtp.mails[0]?.parsed.html || '');
  assert.deepEqual(shown, [21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
  assert.match(scene.smtp.mails[0]?.parsed.text ?? '', /Et 2 autres biens\./);
});

test('a counted property is not announced again, and a later price cut names the former price', async (t) => {
  const scene = await openMailScene(t);
  const reader = await openReader(scene);
  await reader.publish([reader.flat(100_000)], NEW_MATCH);
  await scene.record(reader.search, 20);
  assert.match((await mailed(scene)).join(), /Et 1 autre bien\./);
  await reader.publish([reader.flat(100_000), reader.flat(90_000, 1)], cut(100_000, 90_000));
  assert.match((await mailed(scene)).join(), /100 000 € → 90 000 € \(−10 %\)[^]*: Le prix a changé/);
});

test('counted properties that have gone are neither new properties nor changes', async (t) => {
  const scene = await openMailScene(t);
  const reader = await openReader(scene);
  await reader.publish([reader.flat(100_000)], NEW_MATCH);
  await mailed(scene);
  const unannounced = timeOrderedUuid(new Date());
  await holdProperty(scene.database, flat(unannounced, 1), expireAt(1, { propertyUuid: unannounced }));
  const item = mailItemOf(reader.search, unannounced, new Date());
  await runStatements(scene.database, insertMailItems([item], new Date(), 0));
  await reader.publish([reader.flat(100_000), reader.gone(1)], GONE);
  await scene.record(reader.search, 22);
  const [text] = await mailed(scene);
  assert.match(text ?? '', /^22 nouveautés et 1 bien qui n'est plus en ligne – Toulon\n[^]*Et 3 autres biens\./);
});
