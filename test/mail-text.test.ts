/** The texts of an e-mail. Text written by others cannot change the e-mail around it (decisions, section 12). */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { simpleParser } from 'mailparser';
import { timeOrderedUuid, uuidOf } from '../src/engine/domain/ids.ts';
import { marketKey, NO_MARKETS } from '../src/engine/domain/market-prices.ts';
import { SEARCH_DEFAULTS } from '../src/engine/domain/search.ts';
import { newMailItems } from '../src/features/mail/mail-items.ts';
import { messageBytes } from '../src/features/mail/mail-letter.ts';
import { presentFit } from '../src/features/mail/present-fit.ts';
import { searchWords } from '../src/features/mail/search-words.ts';
import { changesOf, expireAt, heldAfter, OTHER_ADVERT, PROPERTY, resolveToulon, upsertAt } from './support/adverts.ts';
import { valuesOf } from './support/lists.ts';
import { CITY_NAMES, flat, LINK, spaced, startReader } from './support/mail-reader.ts';

const goneB = (minute: number) => expireAt(minute, { advertUuid: OTHER_ADVERT });
/** The lines about the property, without badges. */
const entryOf = (mail: { text: string } | null): readonly string[] =>
  (mail?.text ?? '')
    .split('\n\n')
    .find((block) => /^(?:Recherche|Search)/m.test(block))
    ?.split('\n')
    .filter((line) => !/^(?:Nouveau|New|Prix en|Price|De nouveau|Available)/.test(line)) ?? [];
/** The lines after the title. */
const linesOf = (mail: { text: string } | null): readonly string[] => entryOf(mail).slice(1);
const reasonsOf = (mail: { text: string } | null): string =>
  linesOf(mail)
    .filter((line) => /^(Recherche|Search)/.test(line))
    .map((line) => line.replace(/^.*?[»”] ?: /, ''))
    .join('\n');

test('an e-mail states the property, its price and former price, its location, and the reason for the e-mail', () => {
  const reader = startReader([{ publicTitle: 'Toulon, moins de 300 000' }]);
  reader.publish(flat(0, 250_000));
  assert.equal(reasonsOf(reader.mail()), 'Nouvelle annonce qui correspond à votre recherche');
  reader.publish(flat(1, 239_000));
  const { subject, text, html } = reader.mail() ?? assert.fail();
  assert.equal(subject, 'T3 vue mer, 250 000 € → 239 000 € (−4,4 %) – Toulon');
  assert.match(
    text,
    /^1 baisse de prix – Toulon\n\nToulon, moins de 300 000\nTous les biens\n\nPrix en baisse −4,4 %\n/,
  );
  assert.match(text, /^250 000 € → 239 000 € \(−4,4 %\), 3 855 €\/m²$/m);
  for (const part of [text, spaced(html).replaceAll('&amp;', '&')]) {
    for (const word of [
      ...['T3 vue mer', '250 000 €', '239 000 €', '3 855 €/m²', 'Appartement à vendre, Toulon (83000)'],
      ...['62 m² · 3 pièces · 2 chambres · DPE C · Agence A', 'Envoyé par Agence du Port.'],
      ...[
        'Recherche « Toulon, moins de 300 000 » : Le prix a changé',
        'https://portal.example/annonce/A?a=1&b=2',
        LINK,
      ],
    ]) {
      assert.ok(part.includes(word), `${word} in ${part}`);
    }
  }
  assert.equal(html.split('https://portal.example/1.jpg').length, 2, 'its picture once');
  assert.equal(html.split('https://portal.example/annonce/A').length, 3, 'its link at the picture and the button');
});

test('an e-mail says how far the price is from the market, if the search limits this difference and accepts the price', () => {
  // 62 m².
  const kind = { code: '83137', transactionType: 0, propertyType: 0 };
  const market = { ...kind, name: 'Toulon', median: 5_000, count: 83, changedAt: new Date(0) };
  const reasonAt = (price: number, bounds: object, language: 'fr' | 'en' = 'fr'): string => {
    const reader = startReader([{ publicTitle: 'Toulon', ...bounds }], {
      markets: new Map([[marketKey('83137', 0, 0), market]]),
    });
    reader.publish(flat(0, price));
    return reasonsOf(reader.mail(language));
  };
  const [cheap, any] = [{ marketDifferenceMax: -10 }, { marketDifferenceMin: -90 }];
  const french = 'Nouvelle annonce qui correspond à votre recherche';
  assert.equal(reasonAt(267_000, cheap), `${french} ; 14 % en dessous du marché`);
  assert.equal(reasonAt(267_000, cheap, 'en'), 'New advert that fits your search; 14 % below the market');
  assert.equal(reasonAt(341_000, any), `${french} ; 10 % au-dessus du marché`);
  assert.equal(reasonAt(310_000, any), `${french} ; au prix du marché`);
  // If the median has moved since the match, the match continues, and the e-mail omits the difference.
  assert.equal(reasonAt(310_000, cheap), french);
  assert.equal(reasonAt(267_000, {}), french);
  const members = { ...SEARCH_DEFAULTS, title: '', ...cheap };
  const requested = searchWords(members, { ...CITY_NAMES, siteCategory: () => null }, 'fr').map(spaced);
  assert.ok(requested.includes('Écart avec le prix du marché : au plus -10 %'), requested.join());
});

test('an e-mail names the accepted distances to points of interest, and the requested ones', () => {
  const place = { locations: { lat: 43.12, lon: 5.93 } };
  const { state, crawls } = heldAfter(flat(0, 100_000, 'A', { property: place }));
  const distances = { 'school//public': 420, 'parking//': 50_001, 'school/lycée/': 2_500, 'hospital//': null };
  const sources = {
    ...{ stored: { state: { ...state, distances }, crawls }, resolvePlace: resolveToulon },
    ...{ markets: NO_MARKETS, siteCategoryName: () => null },
  };
  const terms = [
    { facility: 'school', attributes: { operatorType: 'public' }, within: 0.42 },
    { facility: 'parking', beyond: 50 },
    { facility: 'school', attributes: { schoolType: 'lycée' }, within: 2 },
    { facility: 'hospital', within: 10 },
  ] as const;
  const members = { ...SEARCH_DEFAULTS, title: '', pointsOfInterest: terms };
  const nearby = (language: 'fr' | 'en', of = members) => presentFit(of, { ...sources, language }).nearby.map(spaced);
  assert.deepEqual(nearby('fr'), ['école publique à 420 m', 'parking à plus de 50 km']);
  assert.deepEqual(nearby('en'), ['public school 420 m away', 'car park more than 50 km away']);
  const alternative = { pointsOfInterest: terms.slice(0, 1) };
  const either = { ...members, pointsOfInterest: [], alternatives: [{ roomMin: 9 }, alternative] };
  assert.deepEqual(nearby('fr', either as never), ['école publique à 420 m']);
  const requested = searchWords(members, { ...CITY_NAMES, siteCategory: () => null }, 'fr').map(spaced);
  const schools = 'école publique (au plus 420 m), parking (au moins 50 km), lycée (au plus 2 km)';
  assert.ok(requested.includes(`À proximité : ${schools}, hôpital (au plus 10 km)`), requested.join());
});

test('bedrooms of a studio are not mentioned', () => {
  const reader = startReader();
  reader.publish(flat(0, 90_000, 'A', { property: { room: 1, bedroom: 0 } }));
  assert.equal(linesOf(reader.mail())[2], '62 m² · 1 pièce · DPE C · Agence A');
});

test('an advert is compared only with itself, and the prices of the others are listed next to it', () => {
  const reader = startReader();
  reader.publish(flat(0, 100_000));
  reader.publish(flat(1, 95_000, 'B'));
  assert.deepEqual(linesOf(reader.mail()).slice(1, 3), ['95 000 €, 1 532 €/m²', 'Aussi à 100 000 € chez Agence A']);
  reader.publish(flat(2, 98_000));
  const cut = reader.mail();
  assert.deepEqual(linesOf(cut).slice(1, 3), [
    '100 000 € → 98 000 € (−2 %), 1 581 €/m²',
    'Aussi à 95 000 € chez Agence B',
  ]);
  assert.match(cut?.text ?? '', /annonce\/A/);
  reader.publish(flat(3, 90_000, 'B'));
  reader.publish(flat(4, 97_000));
  const both = reader.mail('en');
  assert.match(both?.subject ?? '', /€98,000 → €97,000 \(−1%\)/);
  assert.equal(
    reasonsOf(both).replace('Search “Toulon”: ', ''),
    'The price has changed at Agence B (€95,000 → €90,000); The price has changed',
  );

  const popular = startReader();
  for (const [minute, price] of [5, 4, 1, 3, 2].entries()) {
    popular.publish({ ...flat(minute, price * 1_000), advertUuid: timeOrderedUuid(new Date(minute)) });
  }
  const also = 'Aussi à 1 000 € chez Agence A, à 3 000 € chez Agence A, à 4 000 € chez Agence A';
  assert.equal(linesOf(popular.mail())[2], also, 'the three cheapest others');

  const cheaper = startReader();
  cheaper.publish(flat(0, 100_000));
  cheaper.mail();
  cheaper.publish(flat(1, 95_000, 'B'));
  const second = cheaper.mail();
  assert.deepEqual(linesOf(second).slice(1, 3), ['95 000 €, 1 532 €/m²', 'Aussi à 100 000 € chez Agence A']);
  assert.equal(reasonsOf(second), 'Une annonce est parue');
});

test('an e-mail omits changes that were reverted, or that an earlier e-mail reported', () => {
  const reader = startReader();
  reader.publish(flat(0, 229_000));
  reader.publish(flat(1, 219_000));
  assert.equal(reasonsOf(reader.mail()), 'Nouvelle annonce qui correspond à votre recherche');
  reader.publish(flat(2, 229_000));
  reader.publish(flat(3, 219_000));
  assert.equal(reader.mail(), null);
  // Recorded after the e-mail was begun, but still read by it.
  reader.publish(flat(4, 209_000));
  const early = reader.entry();
  assert.deepEqual([early?.property.price, early?.property.priceBefore], [209_000, 219_000]);
  reader.mail();
  reader.publish(flat(5, 209_000, 'A', { advert: { surface: 70 } }));
  reader.publish(flat(6, 209_000, 'A', { advert: { surface: 62, pictures: ['https://portal.example/2.jpg'] } }));
  assert.equal(reasonsOf(reader.mail()), 'Les photos ont changé');
});

test('an unannounced property is not reported as gone, and an announced one only once', () => {
  const reader = startReader();
  reader.publish(flat(0, 100_000));
  reader.publish(expireAt(1));
  assert.equal(reader.mail(), null);
  reader.publish(flat(2, 100_000));
  reader.mail();
  reader.publish(flat(3, 95_000, 'B'));
  reader.publish(goneB(4));
  assert.equal(reader.mail(), null);
  reader.publish(expireAt(5));
  const gone = reader.mail();
  assert.equal(gone?.subject, "N'est plus en ligne : T3 vue mer");
  assert.doesNotMatch(gone?.text ?? '', /€|portal/);
  reader.publish(flat(6, 95_000, 'B'));
  reader.publish(goneB(7));
  assert.equal(reader.mail(), null);
  reader.publish(flat(8, 90_000));
  assert.match(reader.mail()?.subject ?? '', /100 000 € → 90 000 €/);
});

test('of the start, end and return of a match only the last state is reported, and an end has a line with its criterion', () => {
  const reader = startReader([{ subscribedEvents: ['property.match.end', 'property.match.resume'] }]);
  const why = { fr: 'Le prix (320 000 €) dépasse le maximum de 300 000 €.', en: 'The price is too high.' };
  const line = `Ne correspond plus à votre recherche : T3 vue mer (${why.fr})`;
  reader.publish(flat(0, 250_000));
  reader.mail();
  reader.publish(flat(1, 320_000));
  reader.follow('property.match.end', why);
  const ended = reader.mail() ?? assert.fail();
  assert.equal(ended.subject, 'Ne correspond plus à votre recherche : T3 vue mer');
  assert.equal(ended.text.split('\n\n')[2], line);
  assert.ok(spaced(ended.html).includes(`>${line}</p>`));
  reader.follow('property.match.resume');
  assert.equal(reasonsOf(reader.mail('en')), 'Fits your search again');
  reader.follow('property.match.end', why);
  reader.follow('property.match.resume');
  assert.equal(reader.mail(), null, 'an end and a return cancel out');
  reader.follow('property.match.resume');
  reader.follow('property.match.end', why);
  assert.match(reader.mail('en')?.text ?? '', /^No longer fits your search: T3 vue mer \(The price is too high\.\)/m);
  const fresh = startReader();
  fresh.publish(flat(0, 250_000));
  fresh.follow('property.match.end', why);
  fresh.follow('property.match.resume');
  assert.equal(reasonsOf(fresh.mail()), 'Nouvelle annonce qui correspond à votre recherche');
});

test('an end is reported together with the other changes', () => {
  const reader = startReader([{ budgetMax: 300_000 }]);
  reader.publish(flat(0, 250_000));
  reader.mail();
  reader.publish(flat(1, 320_000));
  reader.follow('property.match.end', { fr: 'Trop cher.', en: '' });
  assert.equal(reasonsOf(reader.mail()), 'Le prix a changé ; Ne correspond plus à votre recherche : Trop cher.');
});

test('the e-mail states which of two adverts has expired, and that it is live again', () => {
  const reader = startReader();
  reader.publish(flat(0, 100_000));
  reader.publish(flat(1, 95_000, 'B'));
  reader.mail();
  reader.publish(goneB(2));
  const left = reader.mail();
  assert.equal(reasonsOf(left), "L'annonce à 95 000 € chez Agence B n'est plus en ligne");
  assert.match(left?.text ?? '', /^100 000 €, [\s\S]*annonce\/A/m);
  assert.doesNotMatch(left?.text ?? '', /annonce\/B/);
  reader.publish(flat(3, 95_000, 'B'));
  assert.equal(reasonsOf(reader.mail('en')), 'An advert is online again');
  reader.publish(goneB(4));
  reader.mail();
  reader.publish(flat(4 + 12 * 24 * 60, 95_000, 'B'));
  assert.equal(reasonsOf(reader.mail()), 'Une annonce est de nouveau en ligne après 12 jours');
  reader.publish(goneB(20_000));
  reader.publish(flat(20_001, 95_000, 'B'));
  assert.equal(reader.mail(), null);
});

test('a price that has left the budget of a search is reported together with a match and a change', () => {
  const reader = startReader([{ budgetMax: 300_000 }]);
  const left = 'Ne correspond plus à votre recherche : Le prix (320 000 €) dépasse le maximum de 300 000 €.';
  reader.publish(flat(0, 290_000));
  reader.publish(flat(1, 320_000));
  assert.equal(spaced(reasonsOf(reader.mail())), `Nouvelle annonce ; ${left}`);
  reader.publish(flat(2, 290_000));
  assert.equal(reasonsOf(reader.mail()), 'Le prix a changé');
  reader.publish(flat(3, 320_000));
  assert.equal(spaced(reasonsOf(reader.mail())), `Le prix a changé ; ${left}`);
});

test('one fact is one sentence, even for several searches, and the match is first', () => {
  const reader = startReader(['A', 'B', 'C'].map((publicTitle) => ({ publicTitle })));
  reader.publish(flat(0, 250_000), 1, 2);
  const news = reader.mail();
  assert.equal(linesOf(news).at(-2), 'Recherches « A », « B » : Nouvelle annonce qui correspond à votre recherche');
  reader.publish(flat(1, 240_000, 'A', { advert: { description: 'Vue' } }));
  assert.deepEqual(linesOf(reader.mail()).slice(-3, -1), [
    'Recherche « C » : Correspond désormais à votre recherche ; Le prix a changé',
    'Recherches « A », « B » : Le prix a changé',
  ]);
  reader.publish(flat(2, 240_000, 'A', { advert: { description: 'Belle vue' } }));
  assert.equal(reasonsOf(reader.mail())?.replace(/^.* : /, ''), 'Une annonce a changé');
});

test('a property without a title is described by its known facts, and a rent states if charges are included', () => {
  const rented = (advert: object) => {
    const reader = startReader();
    const property = { transactionType: 1 };
    reader.publish(flat(0, 900, 'A', { property, advert: { title: null, ...advert } }));
    return reader;
  };
  const untitled = rented({ description: 'Loyer 900\u00a0€ charges comprises' });
  assert.match(
    entryOf(untitled.mail('en')).join('\n'),
    /^Apartment 3 rooms, 62 m², Toulon\n.*to rent.*\n€900 a month, charges included/,
  );
  for (const [advert, rent] of [
    [{ description: 'Charges comprises.' }, '900 € par mois charges comprises'],
    [{ features: ['hors charges'] }, '900 € par mois hors charges'],
    [{ title: 'Studio 900 € HC' }, '900 € par mois hors charges'],
    [{ title: 'Studio 900€ CC' }, '900 € par mois charges comprises'],
    [{ description: '850 € hors charges, 900 € charges comprises' }, '900 € par mois'],
    [{ description: 'Charges non comprises' }, '900 € par mois hors charges'],
    [{}, '900 € par mois'],
  ] as const) {
    assert.equal(linesOf(rented(advert).mail())[1], `${rent}, 14,52 €/m²`);
  }
  const unknown = startReader();
  // These names are invisible.
  const publisher = { name: '\u3164', category: null, type: 1 };
  unknown.publish(upsertAt(0, { advert: { title: '\u00ad\u200b', publisher } }));
  const { text, html } = unknown.mail() ?? assert.fail();
  assert.match(text, /^Bien sans titre\n/m);
  assert.doesNotMatch(text + html, /null|undefined|NaN|[\u00ad\u200b\u3164]/);
  assert.doesNotMatch(html, /<img|href="(?!https:\/\/vigie)/);
});

test('prices keep their cents, and a change too small for a percentage has none', () => {
  const priceAfter = (before: number, now: number | null, transactionType = 0, surface = 60): string => {
    const reader = startReader();
    const parts = { property: { transactionType }, advert: { surface } };
    reader.publish(flat(0, before, 'A', parts));
    reader.mail();
    reader.publish(flat(1, now, 'A', parts));
    return linesOf(reader.mail())[1] ?? '';
  };
  assert.equal(priceAfter(750, 749.5, 1), '750 € → 749,50 € par mois (−0,1 %), 12,49 €/m²');
  assert.equal(priceAfter(250_000.5, 250_001), '250 000,50 € → 250 001 €, 4 167 €/m²');
  assert.equal(priceAfter(250_000, null), '250 000 € → prix inconnu');
});

test('texts of adverts and clients are plain text in HTML and in headers', async () => {
  const evil = `"><script>alert(1)</script><img src=x onerror=alert('1')>\r\nBcc: victim@example.org\r\n\r\n\u202eevil\0`;
  const reader = startReader([{ title: 'private', publicTitle: evil }]);
  const publisher = { name: evil, category: null, type: 1 };
  reader.publish(flat(0, 100, 'B', { advert: { publisher } }));
  reader.publish(flat(1, 90, 'A', { advert: { title: evil, publisher, energy: { category: evil, value: null } } }));
  const { subject, html, text } = reader.mail() ?? assert.fail();
  assert.doesNotMatch(html, /<script|<img src=x/);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the test looks for them
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

test('only web addresses of an advert are used, and a long title is cut between characters', () => {
  const reader = startReader();
  const pictures = ['javascript:alert(1)', 'data:image/png;base64,AA', 'https://portal.example/é.jpg'];
  const advert = { title: '😀'.repeat(5_000), url: 'javascript:alert(1)', pictures };
  reader.publish(flat(0, 250_000, 'A', { advert }));
  const { property } = reader.entry() ?? assert.fail();
  assert.deepEqual([property.link, property.picture], [null, 'https://portal.example/%C3%A9.jpg']);
  assert.equal(property.title?.isWellFormed(), true);
  assert.ok((property.title?.length ?? 0) <= 200);
  assert.doesNotMatch(JSON.stringify(reader.mail()), /javascript/);
});

test('a message has a stable Message-ID and date, and unsubscribes in one click', async () => {
  const id = timeOrderedUuid(new Date('2026-03-10T09:00:00Z'));
  // Frozen, as the configuration is.
  const from = Object.freeze({ name: 'Vigie', address: 'alerts@vigie.example' });
  const text = { subject: 'é'.repeat(300), text: '', html: '' };
  const message = { id, from, to: 'jo@example.org', text, unsubscribeUrl: LINK };
  const [first, again] = await Promise.all([0, 1].map(async () => simpleParser(await messageBytes(message))));
  assert.equal(first?.messageId, `<${id}@vigie.example>`);
  assert.equal(first?.messageId, again?.messageId);
  assert.equal(first?.date?.toISOString(), '2026-03-10T09:00:00.000Z');
  const lines = first?.headerLines.map(({ line }) => line.replace(/\r\n(?= )/g, ''));
  assert.ok(lines?.includes(`List-Unsubscribe: <${LINK}>`));
  assert.ok(lines.includes('List-Unsubscribe-Post: List-Unsubscribe=One-Click'));
  const unsubscribeUrl = LINK.replace('https', 'http');
  const plain = (await simpleParser(await messageBytes({ ...message, unsubscribeUrl }))).headerLines;
  assert.deepEqual(
    plain.flatMap(({ key }) => (key.startsWith('list-') ? [key] : [])),
    ['list-unsubscribe'],
    'one click needs https (RFC 8058)',
  );
  assert.equal(first?.headers.get('auto-submitted'), 'auto-generated');
  assert.equal(first?.replyTo, undefined);
  const replyTo = ['one@example.org', 'two@example.org'];
  assert.equal((await simpleParser(await messageBytes({ ...message, replyTo }))).replyTo?.text, replyTo.join(', '));
});

test('items recorded in one batch are in the order of their changes', () => {
  const client = uuidOf('c11e2700-0000-4000-8000-000000000001');
  const [, cheaper] = changesOf([flat(0, 250_000), flat(1, 240_000)]);
  const mail = { address: 'jo@example.org', key: 'key', frequency: 'instant' };
  const pairs = Array.from({ length: 20 }, () => ({
    route: { clientId: client, generation: 0, mail, subscribedEvents: ['ad.update.price', 'property.ad.update'] },
    match: { id: client, searchNumber: 1, updatedAt: new Date('2026-03-10T08:15:00Z') },
    change: { propertyUuid: PROPERTY },
    events: cheaper?.events,
    hasBegun: false,
  }));
  const items = newMailItems(pairs as unknown as Parameters<typeof newMailItems>[0]);
  assert.equal(items.length, 40);
  assert.deepEqual(valuesOf(items, 'id'), items.map(({ id }) => id).toSorted());
});
