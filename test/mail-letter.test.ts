/**
 * The layout of an e-mail: its order, which homes have a contact, and HTML and CSS that common mail programs keep
 * (decisions, section 12).
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SEARCH_DEFAULTS } from '../src/engine/domain/search.ts';
import type { MailProperty } from '../src/features/mail/mail-contents.ts';
import { entryBytes, type MailContents, mailText, roomFor } from '../src/features/mail/mail-text.ts';
import { namedSearch } from '../src/features/mail/search-words.ts';
import { escapeHtml } from '../src/rest/content.ts';
import { contentsOf, FOOT, flat, spaced, startReader } from './support/mail-reader.ts';

test('subject and first line state what is new, with numbers and places', () => {
  const reader = startReader();
  reader.publish(flat(0, 250_000));
  const entry = reader.entry() ?? assert.fail();
  const of = (property: Partial<MailProperty>, facts = entry.causes[0]?.facts) => ({
    ...entry,
    property: { ...entry.property, ...property },
    causes: entry.causes.map((cause) => ({ ...cause, facts: facts ?? [] })),
  });
  const [fact] = entry.causes[0]?.facts ?? [];
  const changed = [{ ...(fact ?? assert.fail()), type: 'event', kind: 'ad.update.price' } as const];
  const [cut, rise] = [of({ priceBefore: 300_000 }, changed), of({ priceBefore: 200_000 }, changed)];
  const back = of({}, [{ ...(changed[0] ?? assert.fail()), isBack: true }]);
  const gone = of({ title: 'Studio', expired: true });
  const hyeres = of({ city: { name: 'Hyères', zipcode: null } });
  const searches = [{ name: 'Var', criteria: null }];
  const mailOf = (entries: readonly (typeof entry)[], more: Partial<MailContents> = {}, language: 'fr' | 'en' = 'fr') =>
    mailText({ ...contentsOf(entries, searches), ...more }, FOOT, language);
  const more = new Map([['match', 80] as const, ['change', 1] as const]);
  for (const [entries, contents, subject] of [
    [[entry, entry, entry, cut, cut], {}, '3 nouveautés et 2 baisses de prix – Toulon'],
    [[entry, hyeres, cut], {}, '2 nouveautés et 1 baisse de prix – Var'],
    [[entry, hyeres], { searches: [] }, '2 nouveautés'],
    [
      [entry, back, rise, gone],
      {},
      "1 nouveauté, 1 bien de nouveau disponible, 1 changement et 1 bien qui n'est plus en ligne – Toulon",
    ],
    [[entry, entry], { more }, '82 nouveautés et 1 changement – Var'],
    [[gone, gone], {}, '2 biens ne sont plus en ligne'],
  ] as const) {
    const mail = mailOf(entries, contents);
    assert.equal(spaced(mail.subject), subject);
    assert.equal(mail.text.split('\n')[0], mail.subject);
    assert.ok(mail.html.includes(`>${escapeHtml(mail.subject)}</h1>`));
  }
  assert.equal(mailOf([gone, gone], {}, 'en').subject, '2 properties are no longer online');
  assert.equal(mailOf([entry, cut], {}, 'en').subject, '1 new property and 1 price cut – Toulon');
  const town = mailOf([of({ title: 'T3 à Toulon' })]);
  assert.equal(spaced(town.subject), 'T3 à Toulon, 250 000 €');
  assert.match(spaced(town.html), /none;mso-hide:all">Nouveau · 62 m² · 3 pièces/);
  assert.match(spaced(mailOf([entry, cut]).html), />T3 vue mer, 250 000 € · T3 vue mer, 250 000 €<\/div>/);
  const badges = [
    [entry, 'Nouveau'],
    [cut, 'Prix en baisse −16,7 %'],
    [rise, 'Prix en hausse +25 %'],
    [back, 'De nouveau disponible'],
  ] as const;
  for (const [each, badge] of badges)
    assert.match(spaced(mailOf([each]).text), new RegExp(`^${badge.replace('+', '\\+')}\nT3 vue mer$`, 'm'));
  const { text } = mailOf([gone], { more: new Map([['match', 30]]), canReply: true });
  assert.match(
    text,
    /^30 nouveautés.*\n\nVar\n\nRépondez à cet e-mail pour visiter\.\n\nN'est plus en ligne : Studio\n\nEt 30 autres biens\./,
  );
  assert.doesNotMatch(mailOf([gone], { canReply: true }).text, /Répondez/);
});

const CONTACT = {
  agency: 'Agence du Port',
  email: 'a@a.example',
  fax: null,
  name: 'N',
  phone: '04 94 00 00 00',
  reference: 'R1',
};

test('a home without a link has the contact of the shown advert, unless one of its searches hides contacts', () => {
  const published = (advert: object, ...searches: object[]) => {
    const reader = startReader(searches.length === 0 ? [{}] : searches);
    reader.publish(flat(0, 240_000, 'B', { advert: { url: null, contact: { ...CONTACT, agency: 'Autre' } } }));
    reader.publish(flat(1, 250_000, 'A', { advert: { url: null, contact: CONTACT, ...advert } }));
    return reader.mail() ?? assert.fail();
  };
  const { text, html } = published({});
  assert.match(text, /^Agence du Port\n04 94 00 00 00\na@a\.example\nRéférence R1$/m);
  assert.match(
    html,
    /<a href="tel:0494000000" style="color:inherit">04 94 00 00 00<\/a><br><a href="mailto:a@a\.example" style="color:inherit">a@a\.example<\/a><br>Référence R1</,
  );
  assert.doesNotMatch(text + html, /Autre/);
  assert.match(
    published({ contact: { ...CONTACT, agency: ' ', phone: '+33 (0)4 94 00 00 00' } }).html,
    /<strong>N<\/strong><br><a href="tel:\+33494000000"/,
  );
  const odd = published({ contact: { ...CONTACT, phone: 'appelez-moi', email: 'a@a.example?bcc=b@b.example' } }).html;
  assert.match(odd, /<br>appelez-moi<br>a@a\.example\?bcc=b@b\.example<br>/);
  const two = published({ contact: { ...CONTACT, phone: '04.94.00.00.00/06.00.00.00.00' } }).html;
  assert.match(two, /<br>04\.94\.00\.00\.00\/06\.00\.00\.00\.00<br>/);
  const linked = published({ url: 'https://portal.example/1' });
  const hidden = published({}, {}, { hidePropertyContact: true });
  const none = published({
    contact: { ...CONTACT, agency: null, name: '', phone: null, email: '\u200b', reference: null },
  });
  for (const mail of [linked, hidden, none])
    assert.doesNotMatch(mail.text + mail.html, /a@a\.example|04 94|tel:|Référence/);
});

test('one property always fits, because its reasons are cut', () => {
  const searches = Array.from({ length: 500 }, (_, at) => ({
    publicTitle: `"${at}${'"é'.repeat(58)}`,
    budgetMax: 300_000 + at,
  }));
  const reader = startReader(searches);
  const long = { title: '"'.repeat(300), url: `https://portal.example/?${'&'.repeat(2_000)}` };
  const publisher = { name: '"'.repeat(300), category: null, type: 1 };
  const parts = { advert: { ...long, publisher, pictures: [long.url] } };
  for (const [minute, price] of [290_000, 400_000].entries()) reader.publish(flat(minute, price, 'A', parts));
  const entry = reader.entry() ?? assert.fail();
  const named = Array.from({ length: 500 }, () => ({ name: '"'.repeat(120), criteria: '"'.repeat(120) }));
  assert.ok(entryBytes(entry, 'fr') > 40_000 && entryBytes(entry, 'fr') < roomFor(named, FOOT, 'fr'));
  const contents = { ...contentsOf([entry], named), canReply: true, more: new Map([['match', 5_000] as const]) };
  const { html } = mailText(contents, FOOT, 'fr');
  assert.ok(Buffer.byteLength(html) < 90 * 1_024, `${Buffer.byteLength(html)}`);
});

/**
 * CSS that Gmail, Outlook for Windows, Apple Mail and Yahoo keep, according to https://www.caniemail.com as of 2026.
 * `on`: the elements on which all four support the property; `values`: the values that they support.
 */
const KEPT: Readonly<Record<string, { readonly on?: RegExp; readonly values?: RegExp }>> = {
  'background-color': { values: /^#[0-9a-f]{6}$/ },
  border: { on: /^(?:table|td)$/, values: /^[1-8]px / },
  'border-collapse': {},
  color: { values: /^#[0-9a-f]{6}$/ },
  // Outlook does not hide an image with it, nor a table inside the element.
  display: { on: /^div$/, values: /^none$/ },
  'font-family': {},
  'font-size': { values: /^\d+px$/ },
  'font-weight': { values: /^bold$/ },
  'line-height': { values: /^\d+px$/ },
  // Outlook: not on `span` and `body`, and never `auto`; Gmail and Yahoo: never negative.
  margin: { on: /^(?:h1|h2|p|div|table)$/, values: /^\d+(?:px)?(?: \d+(?:px)?)*$/ },
  // Outlook: only on tables.
  'max-width': { on: /^table$/ },
  width: { on: /^(?:table|td)$/ },
  // Outlook: only on cells.
  padding: { on: /^td$/ },
  'text-decoration': { values: /^(?:none|line-through)$/ },
};

/** CSS that some of these programs remove without harm. */
const HARMLESS: typeof KEPT = {
  'border-radius': {},
  color: { on: /^a$/, values: /^inherit$/ },
  // In Outlook a link is as wide as its words, and an image has no gap below.
  display: { on: /^(?:a|img)$/, values: /^block$/ },
  // Outlook never makes it narrower than the width attribute, 600 pixels.
  'max-width': { on: /^img$/, values: /^100%$/ },
  'mso-hide': {},
  'table-layout': {},
  'word-wrap': {},
};

/** `main` and other sections are removed or replaced by `u`; buttons and `svg` are removed. */
const ELEMENTS = /^(?:html|head|meta|title|body|table|tr|td|h1|h2|p|div|span|strong|a|img|br)$/;
const ATTRIBUTES = /^(?:style|href|src|alt|width|align|role|cellpadding|cellspacing|lang|charset|name|content)$/;

interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
}

function elementsIn(html: string): readonly Element[] {
  return [...html.matchAll(/<([a-z][a-z0-9]*)((?: [a-z-]+="[^"]*")*)>/g)].map(([, name = '', written = '']) => ({
    name,
    attributes: Object.fromEntries(
      [...written.matchAll(/ ([a-z-]+)="([^"]*)"/g)].map(([, key, value]) => [key, value]),
    ),
  }));
}

/** Everything that one of the four programs would remove with harm, for example `td { display: flex }`. */
function droppedFrom(html: string): readonly string[] {
  return elementsIn(html).flatMap(({ name, attributes }) => {
    const declarations = (attributes.style ?? '').split(';').filter((text) => text !== '');
    const lost = declarations.filter((declaration) => {
      const [property = '', value = ''] = declaration.split(/:(.*)/);
      return [KEPT[property], HARMLESS[property]].every(
        (rule) => rule === undefined || !(rule.on ?? /^/).test(name) || !(rule.values ?? /^/).test(value),
      );
    });
    return [
      ...(ELEMENTS.test(name) ? [] : [name]),
      ...Object.keys(attributes).flatMap((attribute) => (ATTRIBUTES.test(attribute) ? [] : [`${name} ${attribute}`])),
      ...lost.map((declaration) => `${name} { ${declaration} }`),
    ];
  });
}

test('with 1 to 150 homes, the layout needs nothing that Gmail, Outlook for Windows, Apple Mail or Yahoo remove', () => {
  const dropped =
    '<main><img style="width:1px;object-fit:cover" height="1"><div style="max-width:1px;display:flex;padding:1px">';
  assert.equal(droppedFrom(dropped).length, 7);
  const reader = startReader();
  reader.publish(flat(0, 250_000));
  reader.mail();
  reader.publish(flat(1, 239_000, 'B'));
  reader.publish(flat(2, 225_000));
  const entry = reader.entry() ?? assert.fail();
  const property = {
    ...entry.property,
    link: null,
    contact: { name: 'A', phone: '04 94 00 00 00', email: '', reference: 'R' },
  };
  for (const count of [1, 3, 20, 150]) {
    const entries = Array.from({ length: Math.min(20, count) }, (_, at) =>
      at % 2 === 0 ? entry : { ...entry, property },
    );
    const more = new Map(count > 20 ? [['match', count - 20] as const] : []);
    const searches = [{ name: 'Vue mer', criteria: 'Appartement à Toulon' }];
    const { html } = mailText({ ...contentsOf(entries, searches), canReply: true, more }, FOOT, 'fr');
    assert.deepEqual(droppedFrom(html), []);
    const elements = elementsIn(html);
    const named = (name: string) => elements.filter((element) => element.name === name);
    assert.equal(html.replace(/<[^<>]+>/g, '').match(/[<>]/), null, 'each tag was read');
    assert.deepEqual([named('h1').length, named('h2').length], [1, entries.length]);
    for (const { attributes } of named('img')) {
      assert.deepEqual(
        [Number(attributes.width) <= 600, attributes.height, attributes.alt],
        [true, undefined, 'Photo : T3 vue mer'],
      );
    }
    assert.ok(named('table').every(({ attributes }) => attributes.role === 'presentation'));
    assert.equal(named('table')[0]?.attributes.width, '600');
    const isScheme = ({ attributes }: Element) =>
      attributes.name === 'color-scheme' && attributes.content === 'light dark';
    assert.ok(named('meta').some(isScheme));
    assert.ok(Buffer.byteLength(html) < 90 * 1_024);
  }
  // The second size is that of the tags, without the texts and URLs of the advert.
  const card = entryBytes(entry, 'fr');
  const empty = { ...entry.property, link: 'l', picture: 'p', title: 't' };
  assert.ok(card < 4_500 && entryBytes({ ...entry, property: empty }, 'fr') <= 3_000, String(card));
});

test('a search without a public title is named by its criteria in words', () => {
  const names = {
    city: (insee: string) => ({ '83137': 'Toulon', '76351': 'Le Havre' })[insee] ?? null,
    department: () => 'Var',
  };
  const nameOf = (members: Partial<typeof SEARCH_DEFAULTS>, language: 'fr' | 'en' = 'fr') => {
    const { name, criteria } = namedSearch({ ...SEARCH_DEFAULTS, title: 'private', ...members }, names, language);
    return spaced(criteria === null ? name : `${name}: ${criteria}`);
  };
  const flatInToulon = { propertyTypes: 0, includedCities: ['83137'], budgetMax: 300_000 };
  assert.equal(
    nameOf({ ...flatInToulon, roomMin: 3, roomMax: 3 }),
    "Appartement à Toulon, 3 pièces, jusqu'à 300 000 €",
  );
  assert.equal(
    nameOf({ ...flatInToulon, roomMin: 3 }),
    "Appartement à Toulon, à partir de 3 pièces, jusqu'à 300 000 €",
  );
  assert.equal(
    nameOf({ ...flatInToulon, roomMin: 2, roomMax: 4 }, 'en'),
    'Apartment in Toulon, 2 to 4 rooms, up to 300,000 €',
  );
  assert.equal(
    nameOf({
      transactionType: 1,
      includedCities: ['76351'],
      includedDepartments: ['83'],
      surfaceMin: 60,
      budgetMax: 900,
    }),
    "Tous les biens à louer au Havre, Var, à partir de 60 m², jusqu'à 900 € par mois",
  );
  assert.equal(nameOf({}), 'Tous les biens');
  assert.equal(
    nameOf({ pointsOfInterest: [{ facility: 'school', within: 1 }], excludedPublishers: ['Nexity'] }),
    'À proximité : école (au plus 1 km) ; Sauf les annonces de : Nexity',
  );
  assert.equal(nameOf({ publicTitle: 'Vue\nmer' }), 'Vue mer: Tous les biens');
  assert.equal(nameOf({ publicTitle: '\u202e' }), 'Tous les biens');
});
