/** What an e-mail says, and that nothing of what others wrote gets out of its place (decisions, section 12). */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { simpleParser } from 'mailparser';
import { searchNumberOf, timeOrderedUuid, type Uuid } from '../src/domain/ids.ts';
import type { MailItemContent } from '../src/domain/mail-item.ts';
import { messageBytes } from '../src/mail/mail-message.ts';
import { type MailContents, type MailItem, sectionsOf, shownOf } from '../src/mail/mail-sections.ts';
import { mailText } from '../src/mail/mail-text.ts';

const LINK = 'https://vigie.example/unsubscribe/AAAAAAAAAAAAAAAAAAAAAA';
const CONTENT: MailItemContent = {
  title: 'T3 vue mer',
  transactionType: 0,
  price: 239_000,
  priceBefore: 250_000,
  surface: 62,
  landSurface: null,
  room: 3,
  city: 'Toulon',
  zipcode: '83000',
  picture: 'https://portal.example/1.jpg',
  link: 'https://portal.example/annonce/1?a=1&b=2',
  reason: { type: 'event', kind: 'ad.update.price', oldValue: '250000', newValue: '239000' },
};

function contentsOf(content: Partial<MailItemContent> = {}, title = 'Toulon, moins de 300 000'): MailContents {
  const whole = { ...CONTENT, ...content };
  return { sections: [{ title, entries: [{ content: whole, reasons: [whole.reason] }] }], moreCount: 0 };
}

/** Narrow spaces of French numbers are spaces to whoever reads them. */
const spaced = (text: string): string => text.replace(/[\u00a0\u202f]/g, ' ');

test('an e-mail says what it is, what it costs and cost, where it is, and why it came', () => {
  const { subject, text, html } = mailText(contentsOf(), LINK, 'fr');
  assert.equal(spaced(subject), 'T3 vue mer, 239 000 € (au lieu de 250 000 €) – Toulon, moins de 300 000');
  for (const part of [spaced(text), spaced(html).replaceAll('&amp;', '&')]) {
    for (const word of [
      ...['T3 vue mer', '239 000 € (au lieu de 250 000 €)', '62 m², 3 pièces, Toulon (83000)'],
      ...['Recherche « Toulon, moins de 300 000 »', 'Le prix a changé : 250 000 € → 239 000 €'],
      ...['https://portal.example/annonce/1?a=1&b=2', LINK],
    ]) {
      assert.ok(part.includes(word), `${word} in ${part}`);
    }
  }
  assert.ok(html.includes('<img src="https://portal.example/1.jpg"'));
});

test('it says the same in English, and a rent by the month', () => {
  const { subject, text } = mailText(contentsOf({ transactionType: 1, price: 900, priceBefore: null }), LINK, 'en');
  assert.equal(subject, 'T3 vue mer, €900 a month – Toulon, moins de 300 000');
  assert.ok(text.includes('3 rooms'));
  assert.ok(text.includes('Receive no more of these e-mails'));
});

test('what nobody knows is left out', () => {
  const unknown = { title: null, price: null, priceBefore: null, surface: null, room: null, city: null, zipcode: null };
  const { text, html } = mailText(contentsOf({ ...unknown, picture: null, link: null }), LINK, 'fr');
  assert.ok(text.includes('Bien sans titre'));
  assert.doesNotMatch(text + html, /null|undefined|NaN/);
  assert.doesNotMatch(html, /<img|href="(?!https:\/\/vigie)/);
});

test('texts of adverts and clients are text, in HTML and in headers', async () => {
  const evil = `"><script>alert(1)</script><img src=x onerror=alert('1')>\r\nBcc: victim@example.org\r\n\r\n\u202eevil\0`;
  const { subject, html, text } = mailText(contentsOf({ title: evil, city: evil, zipcode: evil }, evil), LINK, 'fr');
  assert.doesNotMatch(html, /<script|<img src=x/);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what is looked for
  assert.doesNotMatch(subject + html + text, /\r|\u202e|\0/);
  assert.doesNotMatch(subject, /\n/);
  const bytes = await messageBytes({
    id: timeOrderedUuid(new Date()),
    from: { name: 'Vigie', address: 'alerts@vigie.example' },
    to: 'jo@example.org',
    text: { subject, html, text },
    unsubscribeUrl: LINK,
  });
  const head = bytes.toString('latin1').split('\r\n\r\n')[0] ?? '';
  assert.doesNotMatch(head, /^Bcc:/im);
  const parsed = await simpleParser(bytes);
  assert.equal(parsed.bcc, undefined);
  assert.ok(parsed.subject?.includes('Bcc: victim@example.org'));
  assert.ok(parsed.text?.includes('<script>alert(1)</script>'));
});

test('a message has a stable name and date, and unsubscribes in one click', async () => {
  const id = timeOrderedUuid(new Date('2026-03-10T09:00:00Z'));
  // As the configuration is.
  const from = Object.freeze({ name: 'Vigie', address: 'alerts@vigie.example' });
  const message = { id, from, to: 'jo@example.org' };
  const text = mailText(contentsOf({ title: 'é'.repeat(300) }), LINK, 'fr');
  const [first, again] = await Promise.all(
    [0, 1].map(async () => simpleParser(await messageBytes({ ...message, text, unsubscribeUrl: LINK }))),
  );
  assert.equal(first?.messageId, `<${id}@vigie.example>`);
  assert.equal(first?.messageId, again?.messageId);
  assert.equal(first?.date?.toISOString(), '2026-03-10T09:00:00.000Z');
  const lines = first?.headerLines.map(({ line }) => line.replace(/\r\n(?= )/g, ''));
  assert.ok(lines?.includes(`List-Unsubscribe: <${LINK}>`));
  assert.ok(lines.includes('List-Unsubscribe-Post: List-Unsubscribe=One-Click'));
  assert.equal(first?.headers.get('auto-submitted'), 'auto-generated');
});

test('a property stands in it once with all its reasons, the newest first, and what is too much is counted', () => {
  const at = (minute: number) => timeOrderedUuid(new Date(Date.UTC(2026, 2, 10, 8, minute)));
  const [ONE, TWO] = [searchNumberOf(1), searchNumberOf(2)];
  const item = (minute: number, matchId: Uuid, searchNumber = ONE): MailItem => ({
    id: at(minute),
    matchId,
    searchNumber,
  });
  const [a, b, c] = [at(0), at(0), at(0)];
  const items = [item(1, a), item(2, b, TWO), item(3, c), item(4, a)];
  const shown = shownOf(items);
  const contents = new Map(
    shown.items.map(({ id, matchId }, position) => [
      id,
      { ...CONTENT, title: `${matchId}${position}`, reason: { ...CONTENT.reason, oldValue: String(position) } },
    ]),
  );
  const titles = new Map([
    [ONE, 'one'],
    [TWO, 'two'],
  ]);
  const { sections, moreCount } = sectionsOf(shown, contents, titles);
  assert.deepEqual([sections.map(({ title }) => title), moreCount], [['one', 'two'], 0]);
  const [newest, other] = sections[0]?.entries ?? [];
  assert.equal(newest?.reasons.length, 2);
  assert.ok(newest?.content.title?.startsWith(a));
  assert.ok(other?.content.title?.startsWith(c));
  const many = shownOf(Array.from({ length: 80 }, (_, minute) => item(minute % 60, at(minute))));
  assert.deepEqual([new Set(many.items.map(({ matchId }) => matchId)).size, many.moreCount], [50, 30]);
  const { text } = mailText({ ...contentsOf(), moreCount: 30 }, LINK, 'fr');
  assert.ok(text.includes('Et 30 autres biens.'));
});

test('an e-mail of fifty properties with the longest texts stays below what a reader cuts off', () => {
  const long = { ...CONTENT, title: 'Appartement '.repeat(16), link: `https://portal.example/${'a'.repeat(150)}` };
  const entries = Array.from({ length: 50 }, () => ({ content: long, reasons: [long.reason] }));
  const { html } = mailText({ sections: [{ title: 'x', entries }], moreCount: 0 }, LINK, 'fr');
  assert.ok(Buffer.byteLength(html) < 100 * 1_024, `${Buffer.byteLength(html)}`);
});
