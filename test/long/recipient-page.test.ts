/** The recipient's page in a browser: each of its forms, at the width of a phone and of a desktop, light and dark. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timeOrderedUuid } from '../../src/engine/domain/ids.ts';
import { upsertAt } from '../support/adverts.ts';
import { startTestApi } from '../support/api.ts';
import { openPage } from '../support/browser.ts';
import { linkedRecipients } from '../support/linked-recipients.ts';
import { holdProperty } from '../support/mail-scene.ts';

const LONG = 'Appartement-traversant-sans-vis-à-vis-avec-terrasse-et-garage '.repeat(3);

/** Each button, its opposite, and the status and frequency of the search in between. */
const CHOICES = [
  ['Arrêter cette recherche', 'Reprendre cette recherche', 'unsubscribed', null],
  ['Une fois par jour', 'Revenir à la fréquence initiale', 'active', 'daily'],
  ['Une fois par semaine', 'Revenir à la fréquence initiale', 'active', 'weekly'],
  ['Ne plus rien recevoir', 'Recevoir à nouveau ces e-mails', 'unsubscribed', null],
] as const;

test('each choice is made and undone without script, and nothing else is loaded', async (t) => {
  const api = await startTestApi(t);
  const properties = Array.from({ length: 51 }, () => timeOrderedUuid(new Date()));
  for (const propertyUuid of properties) {
    await holdProperty(
      api.database,
      upsertAt(0, { propertyUuid, advert: { title: LONG, url: 'https://a.example/x' } }),
    );
  }
  const criteria = { transactionType: 0, includedCities: ['83137'], budgetMax: 300_000, furnished: true } as const;
  const { path, iri } = await linkedRecipients(api).sent('reader@example.org', criteria, properties);
  const page = await openPage(t);
  const isShown = (text: string) => page.do('until', { expression: `document.body?.innerText.includes('${text}')` });
  const state = async () => {
    const { emailStatus, emailFrequencyChosen } = (await api.call('GET', iri)).body;
    return [emailStatus, emailFrequencyChosen];
  };
  for (const [width, scheme] of [
    [390, 'light'],
    [390, 'dark'],
    [1_440, 'light'],
    [1_440, 'dark'],
  ] as const) {
    const name = `recipient-${scheme}-${width}`;
    await page.do('look', { width, height: 900, scheme });
    await page.do('goto', { url: `${api.baseUrl}${path}` });
    const pictures = process.env.VIGIE_TEST_PICTURES;
    if (pictures !== undefined) await page.do('picture', { path: `${pictures}/${name}.png` });
    const check = async (): Promise<void> => {
      assert.deepEqual(await page.do('axe'), [], name);
      assert.equal(await page.do('evaluate', { expression: 'document.documentElement.scrollWidth - innerWidth' }), 0);
    };
    await check();
    for (const [choose, takeBack, ...chosen] of CHOICES) {
      await page.do('click', { selector: `button::-p-text(${choose})` });
      await isShown(takeBack);
      assert.deepEqual(await state(), chosen, `${name}: ${choose}`);
      await check();
      await page.do('click', { selector: `button::-p-text(${takeBack})` });
      await isShown(choose);
      assert.deepEqual(await state(), ['active', null], `${name}: ${takeBack}`);
    }
    await page.do('click', { selector: 'a::-p-text(Page 2)' });
    await page.do('until', { expression: `document.querySelectorAll('#homes > ul > li').length === 1` });
  }
  const { complaints, addresses } = await page.do<{ complaints: string[]; addresses: string[] }>('report');
  assert.deepEqual(complaints, []);
  const others = addresses.filter(
    (address) => ![`${api.baseUrl}${path}`, 'data:'].some((own) => address.startsWith(own)),
  );
  assert.deepEqual(others, []);
});
