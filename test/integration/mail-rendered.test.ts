/** E-mails as their readers see them: in a browser, light and dark, on a telephone and in a column of 640 pixels. */

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { MailFact, MailProperty } from '../../src/features/mail/mail-contents.ts';
import { mailText } from '../../src/features/mail/mail-text.ts';
import { openPage } from '../support/browser.ts';

const MATCH: MailFact = {
  type: 'match',
  kind: 'property.ad.create',
  before: null,
  now: null,
  isBack: false,
  advert: null,
};
const PRICE: MailFact = { ...MATCH, type: 'event', kind: 'ad.update.price', before: 250_000, now: 239_000 };
/** A drawing in the place of a photograph. */
const pictureOf = (colour: string): string =>
  `data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" width="800" height="533"><rect width="800" height="533" fill="${colour}"/><path d="M200 400V250L400 120 600 250V400z" fill="#fff8"/></svg>`)}`;
const FLAT: MailProperty = {
  title: 'T3 vue mer',
  ...{ transactionType: 0, propertyType: 0, isExpired: false },
  ...{ price: 239_000, priceBefore: 250_000, pricePerMeter: 3_855, hasCharges: null, surface: 62, landSurface: null },
  ...{ room: 3, bedroom: 2, energyClass: 'C', city: 'Toulon', zipcode: '83000', publisher: 'Agence du Port' },
  ...{ picture: pictureOf('#4a7c8c'), link: 'https://portal.example/annonce/1' },
};
const PROPERTIES: readonly MailProperty[] = [
  FLAT,
  { ...FLAT, title: 'Studio meublé', price: 620, priceBefore: 600, transactionType: 1, picture: pictureOf('#8c6a4a') },
  {
    ...FLAT,
    title: 'Appartement-traversant-sans-vis-à-vis-avec-terrasse-et-garage '.repeat(3),
    ...{ priceBefore: null, picture: null, link: null },
  },
];
const GONE = { ...FLAT, title: 'Maison de ville', isExpired: true, link: 'https://portal.example/gone' };
const HTML = mailText(
  {
    entries: [...PROPERTIES, GONE].map((property) => ({
      property,
      others: property === FLAT ? [{ price: 245_000, publisher: 'Agence de la Gare' }] : [],
      causes: [
        { searchTitle: 'Toulon, moins de 300 000', facts: [MATCH, PRICE], misses: [] },
        { searchTitle: 'Vue mer', facts: [PRICE], misses: [] },
      ],
      notified: {},
    })),
    moreCount: 2,
    searchTitles: new Set(['Toulon']),
  },
  { unsubscribeUrl: 'https://vigie.example/unsubscribe/AAAAAAAAAAAAAAAAAAAAAA', sender: 'Agence du Port' },
  'fr',
).html;

test('a card each, the price as it was and is, its change in colour, to be read light and dark', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'vigie-mail-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'mail.html');
  await writeFile(file, HTML);
  const page = await openPage(t);
  for (const scheme of ['light', 'dark']) {
    for (const width of [390, 640]) {
      await page.do('look', { width, height: 1_500, scheme });
      await page.do('goto', { url: pathToFileURL(file).href });
      const name = `mail-${scheme}-${width}`;
      const pictures = process.env.VIGIE_TEST_PICTURES;
      if (pictures !== undefined) await page.do('picture', { path: `${pictures}/${name}.png` });
      const seen = await page.do<Seen>('evaluate', { expression: `(${look})()` });
      assert.equal(seen.overflow, 0, name);
      assert.deepEqual(
        seen.cards.map(({ pictures, links }) => [pictures, links]),
        [
          [1, ['https://portal.example/annonce/1']],
          [1, ['https://portal.example/annonce/1']],
          [0, []],
        ],
        name,
      );
      assert.deepEqual(
        seen.cards.map(({ prices }) => prices),
        [['250 000 €', '239 000 €', '−4,4 %'], ['600 €', '620 € par mois', '+3,3 %'], ['239 000 €']],
        name,
      );
      assert.equal(new Set(seen.cards.flatMap(({ colour }) => colour ?? [])).size, 2, 'a cut is notified from a rise');
      assert.match(seen.text, /N'est plus en ligne : Maison de ville/);
      assert.ok(!seen.allLinks.includes('https://portal.example/gone'), name);
      assert.deepEqual(await page.do('axe'), [], name);
    }
  }
});

interface Seen {
  readonly overflow: number;
  readonly text: string;
  readonly allLinks: readonly string[];
  readonly cards: readonly {
    readonly pictures: number;
    readonly links: readonly string[];
    readonly prices: readonly string[];
    readonly colour: string | null;
  }[];
}

/** In the page. */
const look = `() => {
  const plain = (text) => text.replace(/[\\u00a0\\u202f]/g, ' ').trim();
  const cards = [...document.querySelectorAll('main > div')].map((card) => {
    const price = card.querySelector('[style*="font-size:20px"]');
    const [sign] = card.querySelectorAll('[style*="#fff"][style*="nowrap"]');
    return {
      pictures: card.querySelectorAll('img').length,
      links: [...card.querySelectorAll('a')].map(({ href }) => href),
      prices: plain(price.innerText).replace(/ \\d[\\d ]* €.m²$/, '').split(/ → | (?=[−+])/).map(plain),
      colour: sign === undefined ? null : getComputedStyle(sign).backgroundColor,
    };
  });
  return {
    overflow: Math.max(0, document.documentElement.scrollWidth - innerWidth),
    text: plain(document.body.innerText),
    allLinks: [...document.querySelectorAll('a')].map(({ href }) => href),
    cards,
  };
}`;
