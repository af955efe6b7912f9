/** What an e-mail says, and that nothing of what others wrote gets out of its place (decisions, section 12). */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { simpleParser } from 'mailparser';
import { searchNumberOf, timeOrderedUuid, type Uuid } from '../src/engine/domain/ids.ts';
import { propertyDocument } from '../src/engine/domain/property-document.ts';
import {
  itemsByProperty,
  type MailContents,
  type MailItem,
  type MailProperty,
  type MailReason,
  mailContents,
} from '../src/features/mail/mail-contents.ts';
import { mailText } from '../src/features/mail/mail-text.ts';
import { messageBytes } from '../src/features/mail/mailing.ts';
import {
  ADVERT,
  expireAt,
  heldAfter,
  OTHER_ADVERT,
  resolveToulon,
  UNKNOWN_CONTENT,
  upsertAt,
} from './support/adverts.ts';

const LINK = 'https://vigie.example/unsubscribe/AAAAAAAAAAAAAAAAAAAAAA';
const FOOT = { unsubscribeUrl: LINK, sender: 'Agence du Port' };
const PROPERTY: MailProperty = {
  title: 'T3 vue mer',
  ...{ transactionType: 0, propertyType: 0, isExpired: false },
  ...{ price: 239_000, priceBefore: 250_000, pricePerMeter: 3_855, surface: 62, landSurface: null },
  ...{ room: 3, bedroom: 2, energyClass: 'C', city: 'Toulon', zipcode: '83000', publisher: 'Portail' },
  ...{ picture: 'https://portal.example/1.jpg', link: 'https://portal.example/annonce/1?a=1&b=2' },
};
const PRICE: MailReason = { type: 'event', kind: 'ad.update.price', oldValue: '250000', newValue: '239000' };
const MATCH: MailReason = { type: 'match', kind: 'property.ad.create', oldValue: null, newValue: null };

function contentsOf(property: Partial<MailProperty> = {}, searchTitle = 'Toulon, moins de 300 000'): MailContents {
  const entry = { property: { ...PROPERTY, ...property }, causes: [{ searchTitle, reasons: [MATCH, PRICE] }] };
  return { entries: [entry], expired: [], moreCount: 0, searchTitles: new Set([searchTitle]) };
}

/** Narrow spaces of French numbers are spaces to whoever reads them. */
const spaced = (text: string): string => text.replace(/[\u00a0\u202f]/g, ' ');

test('an e-mail says what it is, what it costs and cost, where it is, and why it came', () => {
  const { subject, text, html } = mailText(contentsOf(), FOOT, 'fr');
  assert.equal(spaced(subject), 'T3 vue mer, 250 000 € → 239 000 € (−4,4 %) – Toulon, moins de 300 000');
  assert.match(spaced(text), /250 000 € → 239 000 € \(−4,4 %\), 3 855 €\/m²/);
  for (const part of [spaced(text), spaced(html).replaceAll('&amp;', '&')]) {
    for (const word of [
      ...['T3 vue mer', '250 000 €', '239 000 €', '3 855 €/m²', 'Appartement à vendre, Toulon (83000)'],
      ...['62 m² · 3 pièces · 2 chambres · DPE C · Portail', 'Envoyé par Agence du Port.'],
      'Recherche « Toulon, moins de 300 000 » : Nouvelle annonce qui correspond à votre recherche ; Le prix a changé',
      ...['https://portal.example/annonce/1?a=1&b=2', LINK],
    ]) {
      assert.ok(part.includes(word), `${word} in ${part}`);
    }
  }
  assert.equal(html.split('https://portal.example/1.jpg').length, 2, 'its picture once');
  assert.equal(html.split('https://portal.example/annonce/1').length, 2, 'its link once');
});

test('it says the same in English, and a rent by the month', () => {
  const { subject, text } = mailText(
    contentsOf({ transactionType: 1, price: 900, priceBefore: null, pricePerMeter: 15 }),
    FOOT,
    'en',
  );
  assert.equal(subject, 'T3 vue mer, €900 a month – Toulon, moins de 300 000');
  assert.ok(text.includes('3 rooms'));
  assert.ok(
    text.includes('Search “Toulon, moins de 300 000”: New advert that fits your search; The price has changed'),
  );
  assert.ok(text.includes('Receive no more of these e-mails'));
});

test('an e-mail of nothing but what has expired says so in its subject', () => {
  const gone = { ...PROPERTY, title: 'Studio', isExpired: true };
  const subjectOf = (count: number, language: 'fr' | 'en'): string => {
    const expired = Array.from({ length: count }, () => gone);
    return mailText({ entries: [], expired, moreCount: 0, searchTitles: new Set(['Toulon']) }, FOOT, language).subject;
  };
  assert.equal(subjectOf(1, 'fr'), "N'est plus en ligne : Studio");
  assert.equal(subjectOf(2, 'fr'), '2 biens ne sont plus en ligne');
  assert.equal(subjectOf(2, 'en'), '2 properties are no longer online');
});

const [ONE, TWO] = [searchNumberOf(1), searchNumberOf(2)];

const documentOf = (uuid: Uuid, price: number, isExpired = false) => {
  const advert = { ...UNKNOWN_CONTENT, title: uuid, price };
  const { state, crawls } = heldAfter(
    upsertAt(0, { propertyUuid: uuid, advert }),
    ...(isExpired ? [expireAt(1, { propertyUuid: uuid })] : []),
  );
  return [uuid, propertyDocument(state, crawls, resolveToulon, { withContacts: false })] as const;
};

test('a subject names a search only if all properties are its own', () => {
  const [one, two] = [1, 2].map((seconds) => timeOrderedUuid(new Date(Date.UTC(2026, 2, 10, 8, 0, seconds)))) as [
    Uuid,
    Uuid,
  ];
  const items = [
    { id: one, searchNumber: ONE, propertyUuid: one, reason: MATCH },
    { id: two, searchNumber: TWO, propertyUuid: two, reason: MATCH },
  ];
  const titles = new Map([
    [ONE, 'one'],
    [TWO, 'two'],
  ]);
  const subjectOf = (sent: typeof items): string => {
    const documents = new Map([documentOf(one, 230), documentOf(two, 9, true)]);
    return mailText(mailContents(sent, { documents, notifiedPrices: new Map(), titles }), FOOT, 'fr').subject;
  };
  assert.equal(subjectOf(items), '2 biens pour vos recherches');
  assert.equal(subjectOf(items.map((item) => ({ ...item, searchNumber: ONE }))), '2 biens pour « one »');
});

test('what nobody knows is left out', () => {
  const unknown = {
    ...{
      transactionType: null,
      propertyType: null,
      pricePerMeter: null,
      bedroom: null,
      energyClass: null,
      publisher: null,
    },
    title: null,
    price: null,
    priceBefore: null,
    surface: null,
    room: null,
    city: null,
    zipcode: null,
  };
  const { text, html } = mailText(contentsOf({ ...unknown, picture: null, link: null }), FOOT, 'fr');
  assert.ok(text.includes('Bien sans titre'));
  assert.doesNotMatch(text + html, /null|undefined|NaN/);
  assert.doesNotMatch(html, /<img|href="(?!https:\/\/vigie)/);
});

test('prices have their cents, and a change too small for the percentage has none', () => {
  const lineOf = (property: Partial<MailProperty>): string =>
    spaced(mailText(contentsOf(property), FOOT, 'fr').text)
      .split('\n')
      .find((line) => line.includes('€')) ?? '';
  assert.equal(
    lineOf({ transactionType: 1, price: 749.5, priceBefore: 750, pricePerMeter: 12.49 }),
    '750 € → 749,50 € par mois (−0,1 %), 12,49 €/m²',
  );
  assert.equal(
    lineOf({ price: 250_001, priceBefore: 250_000.5, pricePerMeter: 4_166.68 }),
    '250 000,50 € → 250 001 €, 4 167 €/m²',
  );
});

test('a price that is no longer stated is unknown, after what it was', () => {
  const { subject, text } = mailText(contentsOf({ price: null, pricePerMeter: null }), FOOT, 'fr');
  assert.match(spaced(subject), /^T3 vue mer, 250 000 € → prix inconnu – /);
  assert.match(spaced(text), /^250 000 € → prix inconnu$/m);
});

test('the expiry of one advert of a property that is still online is said of one advert', () => {
  const reasons: readonly MailReason[] = [
    { type: 'event', kind: 'ad.update.expired', oldValue: 'false', newValue: 'true' },
  ];
  const entries = [{ property: PROPERTY, causes: [{ searchTitle: 'one', reasons }] }];
  const textIn = (language: 'fr' | 'en') =>
    mailText({ entries, expired: [], moreCount: 0, searchTitles: new Set(['Toulon']) }, FOOT, language).text;
  assert.match(textIn('fr'), /Une annonce a expiré/);
  assert.match(textIn('en'), /An advert has expired/);
});

test('a change that ends where it began names no values', () => {
  const reasons = [
    { type: 'event', kind: 'ad.update.surface', oldValue: '60', newValue: '60' },
    { type: 'event', kind: 'ad.update.pictures', oldValue: '2', newValue: '2' },
  ] as const;
  const entries = [{ property: PROPERTY, causes: [{ searchTitle: 'one', reasons }] }];
  const { text } = mailText({ entries, expired: [], moreCount: 0, searchTitles: new Set(['one']) }, FOOT, 'fr');
  assert.match(text, /: La surface a changé ; Les photos ont changé\n/);
});

test('texts of adverts and clients are text, in HTML and in headers', async () => {
  const evil = `"><script>alert(1)</script><img src=x onerror=alert('1')>\r\nBcc: victim@example.org\r\n\r\n\u202eevil\0`;
  const { subject, html, text } = mailText(contentsOf({ title: evil, city: evil, zipcode: evil }, evil), FOOT, 'fr');
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
  const text = mailText(contentsOf({ title: 'é'.repeat(300) }), FOOT, 'fr');
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

test('a property stands in it once, as it is now, with every search and reason, the match first', () => {
  const at = (minute: number) => timeOrderedUuid(new Date(Date.UTC(2026, 2, 10, 8, minute)));
  const item = (minute: number, propertyUuid: Uuid, reason: MailReason, searchNumber = ONE): MailItem => ({
    ...{ id: at(minute), propertyUuid, searchNumber, reason },
  });
  const [a, b, c, gone] = [at(0), at(0), at(0), at(0)] as [Uuid, Uuid, Uuid, Uuid];
  const cut = (from: number, to: number): MailReason => ({ ...PRICE, oldValue: String(from), newValue: String(to) });
  const items = [
    ...[item(1, a, MATCH, TWO), item(2, b, MATCH), item(3, c, MATCH), item(4, gone, MATCH)],
    ...[item(5, a, cut(250, 240)), item(6, a, cut(240, 230))],
  ];
  const { entries, expired, moreCount, searchTitles } = mailContents([...items].reverse(), {
    documents: new Map([documentOf(a, 230), documentOf(b, 9), documentOf(c, 9, true)]),
    notifiedPrices: new Map([[a, 260]]),
    titles: new Map([
      [ONE, 'one'],
      [TWO, 'two'],
    ]),
  });
  assert.deepEqual([entries.map(({ property }) => property.title), moreCount], [[a, b], 0]);
  assert.deepEqual([entries[0]?.property.price, entries[0]?.property.priceBefore], [230, 260]);
  assert.deepEqual(entries[0]?.causes, [
    { searchTitle: 'two', reasons: [MATCH] },
    { searchTitle: 'one', reasons: [cut(250, 230)] },
  ]);
  assert.deepEqual(
    expired.map(({ title }) => title),
    [c],
  );
  const { text, subject } = mailText({ entries, expired, moreCount: 30, searchTitles }, FOOT, 'fr');
  assert.ok(text.includes(`N'est plus en ligne : ${c}`));
  assert.ok(text.includes('Et 30 autres biens.'));
  assert.equal(subject, '33 biens pour vos recherches');
});

test('changes of two adverts are two reasons, and the price before is that of the advert whose price it is', () => {
  const uuid = timeOrderedUuid(new Date(Date.UTC(2026, 2, 10, 8, 0)));
  const change = (kind: MailReason['kind'], from: number, to: number, advertUuid = ADVERT): MailReason => ({
    ...{ type: 'event', kind, oldValue: String(from), newValue: String(to), advertUuid },
  });
  const reasons = [
    ...[change('ad.update.surface', 60, 61), change('ad.update.surface', 61, 62, OTHER_ADVERT)],
    ...[change('ad.update.price', 257, 256), change('ad.update.price', 256, 255), change('ad.update.price', 300, 290)],
  ];
  const items = reasons.map((reason, second): MailItem => {
    const id = timeOrderedUuid(new Date(Date.UTC(2026, 2, 10, 8, 0, second)));
    return { id, propertyUuid: uuid, searchNumber: searchNumberOf(1), reason };
  });
  const { state, crawls } = heldAfter(upsertAt(0, { propertyUuid: uuid, advert: { ...UNKNOWN_CONTENT, price: 255 } }));
  const [entry] = mailContents(items, {
    documents: new Map([[uuid, propertyDocument(state, crawls, resolveToulon, { withContacts: false })]]),
    ...{ notifiedPrices: new Map(), titles: new Map() },
  }).entries;
  assert.deepEqual(entry?.causes[0]?.reasons, [
    ...reasons.slice(0, 2),
    change('ad.update.price', 257, 255),
    change('ad.update.price', 300, 290),
  ]);
  assert.deepEqual([entry?.property.price, entry?.property.priceBefore], [255, 257]);
});

test('of too many properties those that changed last are shown, and the others counted', () => {
  const at = (minute: number) => timeOrderedUuid(new Date(Date.UTC(2026, 2, 10, 8, 0, minute)));
  const items = Array.from({ length: 80 }, (_, minute): MailItem => {
    return { id: at(minute), propertyUuid: at(minute), searchNumber: searchNumberOf(1), reason: MATCH };
  });
  const sources = { documents: new Map(), notifiedPrices: new Map(), titles: new Map() };
  assert.deepEqual([...itemsByProperty(items).keys()][0], items[79]?.propertyUuid);
  assert.deepEqual([itemsByProperty(items).size, mailContents(items, sources).moreCount], [50, 30]);
});

test('an e-mail of fifty properties with the longest texts stays below what a reader cuts off', () => {
  const long = { ...PROPERTY, title: 'Appartement '.repeat(16), link: `https://portal.example/${'a'.repeat(150)}` };
  const causes = [{ searchTitle: 'x'.repeat(60), reasons: [MATCH, PRICE] }];
  const entries = Array.from({ length: 50 }, () => ({ property: long, causes }));
  const { html } = mailText({ entries, expired: [], moreCount: 0, searchTitles: new Set(['Toulon']) }, FOOT, 'fr');
  assert.ok(Buffer.byteLength(html) < 100 * 1_024, `${Buffer.byteLength(html)}`);
});
