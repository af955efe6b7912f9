/** E-mails as readers see them: in a browser, light and dark, on a phone and in a column of 640 pixels. */

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { mailText } from '../../src/features/mail/mail-text.ts';
import { expireAt, OTHER_ADVERT, TOULON, upsertAt } from '../support/adverts.ts';
import { openPage } from '../support/browser.ts';
import { tuplesOf, valuesOf } from '../support/lists.ts';
import { contentsOf, FOOT, startReader } from '../support/mail-reader.ts';
import { emptyDirectory } from '../support/servers.ts';

/** A drawing instead of a photograph. */
const pictureOf = (colour: string): string =>
  `data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" width="800" height="533"><rect width="800" height="533" fill="${colour}"/><path d="M200 400V250L400 120 600 250V400z" fill="#fff8"/></svg>`)}`;
const PICTURE = 'https://portal.example/1.jpg';
const SEARCHES = [{ publicTitle: 'Toulon, moins de 300 000', budgetMax: 235_000 }, { publicTitle: 'Vue mer' }];

/** An entry about a property that has had these prices. */
function entryOf(title: string, prices: readonly number[], { transactionType = 0, url = '', isGone = false } = {}) {
  const reader = startReader(SEARCHES);
  const pictures = url === '' ? [] : [PICTURE];
  const city = { insee: TOULON.insee, zipcode: null, name: null };
  const publisher = { name: 'Agence du Port', category: null, type: 1 };
  for (const [minute, price] of prices.entries()) {
    if (minute > 0) reader.mail();
    const property = { transactionType, propertyType: 0, room: 3, bedroom: 2, city };
    const advert = { title, price, surface: 62, publisher, pictures, url: url === '' ? null : url };
    if (minute === 0)
      reader.publish(upsertAt(0, { advertUuid: OTHER_ADVERT, property, advert: { ...advert, url: null } }));
    reader.publish(upsertAt(minute + 1, { property, advert }));
  }
  if (isGone) {
    reader.mail();
    for (const advertUuid of [undefined, OTHER_ADVERT]) reader.publish(expireAt(9, advertUuid ? { advertUuid } : {}));
  }
  return reader.entry() ?? assert.fail();
}

const url = 'https://portal.example/annonce/1';
const LONG = 'Appartement-traversant-sans-vis-à-vis-avec-terrasse-et-garage '.repeat(3);
const HTML = mailText(
  contentsOf(
    [
      entryOf('T3 vue mer', [250_000, 239_000], { url }),
      entryOf('Studio meublé', [600, 620], { transactionType: 1, url }),
      entryOf(LONG, [239_000]),
      entryOf('Maison de ville', [100_000], { url: 'https://portal.example/gone', isGone: true }),
    ],
    [{ name: 'Toulon, moins de 300 000', criteria: null }],
  ),
  FOOT,
  'fr',
).html.replaceAll(PICTURE, pictureOf('#4a7c8c'));

test('each property is a card with its former and current price and a coloured change, legible in light and dark', async (t) => {
  const file = join(await emptyDirectory(t, 'mail'), 'mail.html');
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
        tuplesOf(seen.cards, 'pictures', 'links'),
        [
          [1, ['https://portal.example/annonce/1', 'https://portal.example/annonce/1']],
          [1, ['https://portal.example/annonce/1', 'https://portal.example/annonce/1']],
          [0, []],
        ],
        name,
      );
      assert.deepEqual(
        valuesOf(seen.cards, 'prices'),
        [['250 000 €', '239 000 €'], ['600 €', '620 € par mois'], ['239 000 €']],
        name,
      );
      assert.equal(
        new Set(seen.cards.flatMap(({ colour }) => colour ?? [])).size,
        3,
        'a cut, a rise and a match differ',
      );
      assert.deepEqual(valuesOf(seen.cards, 'button'), [44, 44, null], 'a button is 44 px high');
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
    readonly button: number | null;
  }[];
}

/** Runs in the page. */
const look = `() => {
  const plain = (text) => text.replace(/[\\u00a0\\u202f]/g, ' ').trim();
  const cards = [...document.querySelectorAll('table table')].filter((table) => table.querySelector('h2')).map((card) => {
    const price = card.querySelector('[style*="font-size:20px"]');
    const badge = card.querySelector('span[style*="background-color"]');
    return {
      pictures: card.querySelectorAll('img').length,
      links: [...card.querySelectorAll('a')].map(({ href }) => href),
      prices: plain(price.innerText).replace(/ \\d[\\d ]* €.m²$/, '').split(' → ').map(plain),
      colour: badge === null ? null : getComputedStyle(badge).backgroundColor,
      button: card.querySelector('td[width="200"] a')?.offsetHeight ?? null,
    };
  });
  return {
    overflow: Math.max(0, document.documentElement.scrollWidth - innerWidth),
    text: plain(document.body.innerText),
    allLinks: [...document.querySelectorAll('a')].map(({ href }) => href),
    cards,
  };
}`;
