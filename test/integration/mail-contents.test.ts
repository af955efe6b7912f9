/** What e-mails say is what holds when they are written, and what a recipient may have is not sent in other words. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timeOrderedUuid, type Uuid } from '../../src/engine/domain/ids.ts';
import type { Search } from '../../src/engine/domain/search.ts';
import { insertMailItems } from '../../src/features/mail/mail.ts';
import type { MailReason } from '../../src/features/mail/mail-contents.ts';
import { expireAt, upsertAt } from '../support/adverts.ts';
import { holdProperty, type MailScene, mailItemOf, NEW_MATCH, openMailScene } from '../support/mail-scene.ts';
import { runStatements } from '../support/statements.ts';
import { until } from '../support/until.ts';

const cut = (from: number, to: number): MailReason => ({
  ...{ type: 'event', kind: 'ad.update.price', oldValue: String(from), newValue: String(to) },
});
const spaced = (text: string | undefined): string => (text ?? '').replace(/[\u00a0\u202f]/g, ' ');
const flat = (propertyUuid: Uuid, price: number, minute = 0) =>
  upsertAt(minute, { propertyUuid, advert: { title: 'T3 vue mer', price, surface: 50 } });

async function recordReasons(
  scene: MailScene,
  search: Search,
  property: Uuid,
  ...reasons: MailReason[]
): Promise<void> {
  const now = new Date();
  const items = reasons.map((reason) => mailItemOf(search, property, now, reason));
  await runStatements(scene.database, insertMailItems(items, now, 0));
}

/** Resolves with the text of the last e-mail once everything recorded is sent. */
async function mailed(scene: MailScene): Promise<string> {
  const mailing = scene.start();
  await scene.untilAllEnded();
  await mailing.drain();
  return spaced(scene.smtp.mails.at(-1)?.parsed.text);
}

test('of two cuts published together the e-mail shows the price that holds, and the one last heard', async (t) => {
  const scene = await openMailScene(t);
  const client = await scene.newClient('cuts');
  const search = await scene.newSearch(client, 'cuts@example.org', { title: 'Première' });
  const other = await scene.newSearch(client, 'cuts@example.org', { title: 'Seconde' });
  const property = timeOrderedUuid(new Date());
  await holdProperty(scene.database, flat(property, 300_000));
  await recordReasons(scene, search, property, NEW_MATCH);
  assert.match(await mailed(scene), /300 000 €, 6 000 €\/m²/);

  await holdProperty(scene.database, flat(property, 300_000), flat(property, 280_000, 1), flat(property, 270_000, 2));
  await recordReasons(scene, search, property, cut(300_000, 280_000), cut(280_000, 270_000));
  await recordReasons(scene, other, property, NEW_MATCH);
  const text = await mailed(scene);
  assert.match(text, /300 000 € → 270 000 € \(−10 %\)/);
  assert.doesNotMatch(text, /280 000/);
  assert.equal(text.split('T3 vue mer').length, 2, text);
  assert.match(text, /Recherche « Seconde » : Nouvelle annonce[\s\S]*Recherche « Première » : Le prix a changé/);
  assert.match(spaced(scene.smtp.mails.at(-1)?.parsed.subject), /^T3 vue mer, 300 000 € → 270 000 € \(−10 %\)/);
});

test('an advert that has expired since is told as such, in a line at the end', async (t) => {
  const scene = await openMailScene(t);
  const search = await scene.newSearch(await scene.newClient('expired'), 'expired@example.org');
  const [gone, here] = [timeOrderedUuid(new Date()), timeOrderedUuid(new Date())];
  await holdProperty(scene.database, flat(gone, 100_000), expireAt(1, { propertyUuid: gone }));
  await holdProperty(scene.database, flat(here, 120_000));
  await recordReasons(scene, search, gone, NEW_MATCH);
  await recordReasons(scene, search, here, NEW_MATCH);
  const text = await mailed(scene);
  assert.match(text, /120 000 €[\s\S]*N'est plus en ligne : T3 vue mer/);
  assert.doesNotMatch(text, /100 000/);
});

test('a price that an e-mail did not show is not the one last heard', async (t) => {
  const scene = await openMailScene(t);
  const search = await scene.newSearch(await scene.newClient('back'), 'back@example.org');
  const property = timeOrderedUuid(new Date());
  const history = [flat(property, 300_000), flat(property, 270_000, 1), expireAt(2, { propertyUuid: property })];
  await holdProperty(scene.database, ...history.slice(0, 1));
  await recordReasons(scene, search, property, NEW_MATCH);
  assert.match(await mailed(scene), /^T3 vue mer\n.*\n300 000 €, /);
  await holdProperty(scene.database, ...history);
  await recordReasons(scene, search, property, cut(300_000, 270_000));
  assert.doesNotMatch(await mailed(scene), /€/);
  await holdProperty(scene.database, ...history, flat(property, 270_000, 3));
  await recordReasons(scene, search, property, {
    ...cut(0, 0),
    kind: 'property.ad.update',
    oldValue: null,
    newValue: null,
  });
  assert.match(await mailed(scene), /300 000 € → 270 000 € \(−10 %\)/);
});

test('an advert that has expired is not linked, and the one that has not is', async (t) => {
  const scene = await openMailScene(t);
  const search = await scene.newSearch(await scene.newClient('links'), 'links@example.org');
  const property = timeOrderedUuid(new Date());
  const other = timeOrderedUuid(new Date());
  const first = flat(property, 100_000);
  const second = { ...flat(property, 110_000, 1), advertUuid: other };
  const [gone, here] = ['https://portal.example/gone', 'https://portal.example/here'];
  const linked = { ...second, advert: { ...second.advert, url: here } };
  await holdProperty(
    scene.database,
    { ...first, advert: { ...first.advert, url: gone } },
    linked,
    expireAt(2, { propertyUuid: property }),
  );
  await recordReasons(scene, search, property, NEW_MATCH);
  const text = await mailed(scene);
  assert.match(text, /110 000 €[\s\S]*portal\.example\/here/);
  assert.doesNotMatch(text, /gone/);
  await holdProperty(scene.database, { ...first, advert: { ...first.advert, url: gone } }, second, {
    ...expireAt(2, { propertyUuid: property }),
  });
  await recordReasons(scene, search, property, cut(120_000, 110_000));
  assert.doesNotMatch(await mailed(scene), /portal\.example/);
});

test('another attempt sends the same bytes, whatever has changed meanwhile', async (t) => {
  const scene = await openMailScene(t);
  const search = await scene.newSearch(await scene.newClient('again'), 'again@example.org');
  const property = timeOrderedUuid(new Date());
  await holdProperty(scene.database, flat(property, 100_000));
  await recordReasons(scene, search, property, NEW_MATCH);
  scene.smtp.scriptMessage({ code: 451, text: 'later' }, 'accept');
  const mailing = scene.start({ retryDelayMs: 600_000 });
  await until(scene.rows, ([row]) => row?.state === 'retry_wait');
  await mailing.drain();
  await holdProperty(scene.database, flat(property, 100_000), flat(property, 90_000, 1));
  await scene.database.query(`update mail_items set due_at = clock_timestamp() where state = 'retry_wait'`);
  await mailed(scene);
  const [first, again, ...others] = scene.smtp.messages;
  assert.match(first ?? '', /Message-ID/);
  assert.deepEqual([again, others], [first, []]);
});
