/** What a search says of its e-mails, and their link to unsubscribe, answered without a key (decisions, 12; RFC 8058). */

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { timeOrderedUuid } from '../../src/engine/domain/ids.ts';
import { SEARCH_DEFAULTS, type SearchMembers } from '../../src/engine/domain/search.ts';
import { createSearch } from '../../src/engine/store/searches.ts';
import { insertMailItems } from '../../src/features/mail/mail.ts';
import { claimMail, readMailTurns } from '../../src/features/mail/mail-claims.ts';
import { startTestApi } from '../support/api.ts';
import { NEW_MATCH } from '../support/mail-scene.ts';
import { runStatements } from '../support/statements.ts';

const api = await startTestApi({ after });

/** A search with an e-mail under way to `address` and an item that waits. */
async function sent(address: string, asked: Partial<SearchMembers> = {}) {
  const { database, clientId } = api;
  const mailed = { title: 'x', notificationEnabled: true, notificationRecipient: address };
  const members = { ...SEARCH_DEFAULTS, ...mailed, ...asked };
  const { id, number, mail: standing } = await createSearch(database, clientId, members);
  const key = standing.key as string;
  const item = () => ({
    ...{ id: timeOrderedUuid(new Date()), clientId, searchNumber: number, matchId: timeOrderedUuid(new Date()) },
    ...{ propertyUuid: timeOrderedUuid(new Date()), reason: NEW_MATCH, traceparent: null, generation: 0 },
    route: { address, key, frequency: 'instant' as const, hasConsent: false },
  });
  await runStatements(database, insertMailItems([item()], new Date(), 0));
  const turn = (await readMailTurns(database, 10)).find((one) => one.key === key);
  assert.ok(turn);
  const mail = await claimMail(database, turn, { leaseMs: 600_000, now: new Date() });
  assert.ok(mail);
  const waiting = item();
  await runStatements(database, insertMailItems([waiting], new Date(), 300_000));
  return {
    iri: `/searches/${id}`,
    path: `/unsubscribe/${mail.token}`,
    token: mail.token,
    waiting: waiting.id,
    address,
  };
}

const ask = (method: string, path: string, init: RequestInit = {}) =>
  fetch(`${api.baseUrl}${path}`, { method, ...init });
const statusOf = async (iri: string) => (await api.call('GET', iri)).body.emailStatus;

const NOTIFYING = { title: 'x', notificationEnabled: true, notificationRecipient: 'jo@example.org' };
const created = async (members: object = {}) =>
  (await api.call('POST', '/searches', { ...NOTIFYING, ...members })).body;
const change = async (iri: string, members: object) => (await api.call('PUT', iri, members)).body;

describe('the members of a search about e-mail', () => {
  it('have an emailStatus: active for an address, off without one or without notifications', async () => {
    const { '@id': iri, emailStatus, notificationFrequency } = await created();
    assert.deepEqual([emailStatus, notificationFrequency], ['active', 'instant']);
    assert.equal((await change(iri, { notificationEnabled: false })).emailStatus, 'off');
    assert.equal((await change(iri, { notificationEnabled: true })).emailStatus, 'active');
    assert.equal((await change(iri, { notificationRecipient: null })).emailStatus, 'off');
    assert.equal((await created({ notificationRecipient: null })).emailStatus, 'off');
    const mute = await startTestApi({ after }, { settings: { isMailAvailable: false } });
    const { body } = await mute.call('POST', '/searches', { ...NOTIFYING, emailStatus: 'active' });
    assert.equal(body.emailStatus, 'unavailable');
  });

  it('are refused until the address changes, and not only because the same one is sent back', async () => {
    const { '@id': iri } = await created({ notificationRecipient: 'gone@example.org' });
    await api.database.query('update searches set mail_refused_at = now() where id = $1', [iri.slice(10)]);
    const refused = (await api.call('GET', iri)).body;
    assert.equal(refused.emailStatus, 'refused');
    assert.equal((await change(iri, refused)).emailStatus, 'refused');
    assert.equal((await change(iri, { notificationRecipient: 'new@example.org' })).emailStatus, 'active');
  });

  it('have a frequency that is instant, daily or weekly, and null is instant', async () => {
    const { '@id': iri } = await created({ notificationFrequency: 'weekly' });
    assert.equal((await change(iri, { notificationFrequency: 'daily' })).notificationFrequency, 'daily');
    assert.equal((await change(iri, { notificationFrequency: null })).notificationFrequency, 'instant');
  });

  it('have one address, without what could end a line or begin another address', async () => {
    const addresses = [
      ...['', 'jo', 'jo@', '@example.org', 'a@example.org,b@example.org', 'a@example.org b@example.org'],
      ...['jo@example.org\nBcc: x@example.org', 'jo@example.org\r', 'Jo <jo@example.org>', '"a\r\nb"@example.org'],
      ...['jo@example.org>', 'jo@[127.0.0.1]', 'jo\0@example.org', ['jo@example.org'], 1],
    ];
    for (const notificationRecipient of addresses) {
      const { status } = await api.call('POST', '/searches', { title: 'x', notificationRecipient });
      assert.equal(status, 422, JSON.stringify(notificationRecipient));
    }
  });
});

describe('the link to unsubscribe', () => {
  it('asks, and changes nothing, however often it is followed', async () => {
    const { iri, path, address } = await sent('asked@example.org');
    for (const method of ['GET', 'HEAD', 'GET']) {
      const response = await ask(method, path);
      assert.equal(response.status, 200);
      assert.match(response.headers.get('Content-Type') ?? '', /^text\/html/);
      assert.equal(response.headers.get('Cache-Control'), 'no-store');
      assert.equal(response.headers.get('Referrer-Policy'), 'no-referrer');
      const policy = response.headers.get('Content-Security-Policy') ?? '';
      assert.match(policy, /default-src 'none'/);
      assert.match(policy, /form-action 'self'/);
      const page = await response.text();
      if (method === 'GET') assert.match(page, /<h1>.*<\/h1>\n<p>[^<]*\?<\/p>\n<form method="post">.*<\/form>\n<ul>/);
      assert.ok(!page.includes(address));
    }
    assert.equal(await statusOf(iri), 'active');
  });

  it('shows what the searches ask for, in words, and nothing of who asks or of other searches', async () => {
    const address = 'reader@example.org';
    await api.call('POST', '/searches', { title: 'of somebody else', notificationRecipient: 'other@example.org' });
    await api.call('POST', '/searches', { title: 'silent', notificationRecipient: address });
    const { path } = await sent(address, {
      ...{ title: '<b>Var</b>', transactionType: 0, propertyTypes: [0, 1], budgetMax: 300_000, roomMin: 3, roomMax: 4 },
      ...{ includedCities: ['83137'], includedDepartments: ['13'], includedZipcodes: ['06000'], furnished: false },
      ...{ lat: '43.1', lon: '5.9', radius: '12.5', surfaceMin: 60, excludedCities: ['83061'], publisherTypes: 1 },
      ...{ elevator: true, energyCategories: ['A', 'B'], withVirtualTour: true },
      orMissing: [
        'room',
        'elevator',
        'energy',
        'transactionType',
        'withVirtualTour',
        'withCoherentPrice',
        'excludedCities',
      ],
      expressions: [
        'expressions[0][0][word]=vue mer&expressions[0][1][word]=travaux&expressions[0][1][options][includes]=false',
        'expressions[1][0][word]=<i>&expressions[1][0][options][strict]=true',
      ].join('&'),
    });
    const page = (await (await ask('GET', path)).text()).replace(/[\u00a0\u202f]/g, ' ');
    for (const line of [
      '<strong>&lt;b&gt;Var&lt;/b&gt;</strong>',
      'Appartement ou Maison à vendre (ou non précisé)',
      'Lieu : à 12,5 km autour de 43.1, 5.9, Bouches-du-Rhône, Toulon ou 06000',
      'Sauf à : Fréjus',
      ...[
        'Prix : jusqu&#39;à 300 000 €',
        'Surface : à partir de 60 m²',
        'Nombre de pièces : de 3 à 4 (ou non précisé)',
        'Non meublé',
      ],
      ...['Avec ascenseur (ou non précisé)', 'Classe énergie : A ou B (ou non précisé)'],
      'Annonceur : professionnel',
      'Texte de l&#39;annonce : « vue mer » et sans « travaux », ou exactement « &lt;i&gt; »',
      'Une visite virtuelle est proposée',
      'Rien n&#39;indique que le prix s&#39;écarte du marché',
    ]) {
      assert.ok(page.includes(`${line}<`), `${line} in ${page}`);
    }
    for (const hidden of ['reader@', 'silent', 'somebody else']) assert.ok(!page.includes(hidden), hidden);
  });

  it('shows a search of anything, and one of every commune, in a few lines', async () => {
    const communes = [...api.reference.populations()].map(([insee]) => insee);
    const { path } = await sent('many@example.org', { includedCities: communes, withCoherentPrice: null });
    const page = await (await ask('GET', path)).text();
    assert.match(page, /Tous les biens<br>Lieu : (?:[^,<]+, ){19}[^,<]+ ou 3\d{4} autres<\/li>/);
  });

  it('unsubscribes with one click, for good, and cancels what waits', async () => {
    const { iri, path, waiting, address } = await sent('leaving@example.org');
    const click = {
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: 'List-Unsubscribe=One-Click',
    };
    assert.equal((await ask('POST', path, click)).status, 200);
    assert.equal(await statusOf(iri), 'unsubscribed');
    const { body } = await api.call('GET', `/deliveries/${waiting}`);
    assert.deepEqual([body.status, body.channel, body.endpoint], ['cancelled', 'email', `mailto:${address}`]);
    const form = new FormData();
    form.set('List-Unsubscribe', 'One-Click');
    assert.equal((await ask('POST', path, { body: form })).status, 200);
    assert.equal((await change(iri, { notificationRecipient: null })).emailStatus, 'off');
    assert.equal((await change(iri, { notificationRecipient: address.toUpperCase() })).emailStatus, 'unsubscribed');
    assert.equal((await created({ notificationRecipient: address })).emailStatus, 'unsubscribed');
    const listed = (await api.call('GET', '/searches?itemsPerPage=100')).body['hydra:member'];
    assert.equal(listed.filter((one: { emailStatus: string }) => one.emailStatus === 'unsubscribed').length, 2);
    const key = await api.newClient('neighbour');
    const theirs = await api.call('POST', '/searches', { ...NOTIFYING, notificationRecipient: address }, { key });
    assert.equal(theirs.body.emailStatus, 'active');
  });

  it('leaves what waits to the address that its search has by now', async () => {
    const { iri, path, waiting, address } = await sent('moved@example.org');
    await api.call('PUT', iri, { notificationRecipient: 'present@example.org' });
    assert.equal((await ask('POST', path)).status, 200);
    const { database, clientId } = api;
    await database.query('update mail_items set gathers_from = now(), due_at = now() where id = $1', [waiting]);
    const claim = async (to: string) => {
      const { rows } = await database.query('select mail_key_of($1, $2) as key', [clientId, to]);
      const turn = { clientId, key: rows[0].key, mailId: null };
      return claimMail(database, turn, { leaseMs: 600_000, now: new Date() });
    };
    assert.equal(await claim(address), null);
    const mail = await claim('present@example.org');
    assert.deepEqual([mail?.address, mail?.items.map(({ id }) => id)], ['present@example.org', [waiting]]);
  });

  it('offers to take it back, and then e-mails are sent again', async () => {
    const { iri, path } = await sent('back@example.org');
    const done = await (await ask('POST', path)).text();
    for (const page of [done, await (await ask('GET', path)).text()]) {
      assert.match(page, /<form method="post" action="\?again"><button type="submit">Recevoir à nouveau/);
    }
    assert.equal(await statusOf(iri), 'unsubscribed');
    assert.equal((await ask('POST', `${path}?again`)).status, 200);
    assert.equal(await statusOf(iri), 'active');
    assert.match(await (await ask('GET', path)).text(), /<form method="post"><button/);
    assert.equal((await ask('POST', `${path.slice(0, -2)}zz?again`)).status, 404);
  });

  it('works with the twelve digits that earlier e-mails have before the token', async () => {
    const { iri, token } = await sent('earlier@example.org');
    assert.equal((await ask('GET', `/unsubscribe/0123456789ab.${token}`)).status, 200);
    assert.equal((await ask('POST', `/unsubscribe/0123456789ab.${token}`)).status, 200);
    assert.equal(await statusOf(iri), 'unsubscribed');
  });

  it('is of no use to anybody who guesses', async () => {
    const { iri, token } = await sent('guessed@example.org');
    const wrong = `${token.slice(0, -1)}${token.endsWith('A') ? 'Q' : 'A'}`;
    for (const path of [
      wrong,
      `0123456789ab.${wrong}`,
      `0123456789ab${token}`,
      `0123456789a.${token}`,
      token.slice(1),
      `${token}A`,
      '%00',
      '..%2f',
      "'",
      'a'.repeat(10_000),
    ]) {
      for (const method of ['GET', 'POST']) {
        assert.equal((await ask(method, `/unsubscribe/${path}`)).status, 404, path.slice(0, 40));
      }
    }
    assert.equal(await statusOf(iri), 'active');
    assert.equal((await ask('DELETE', `/unsubscribe/${token}`)).status, 405);
  });

  it('is written neither to the log nor, as it is, to the database', async () => {
    const { path, token } = await sent('secret@example.org');
    await ask('GET', path);
    await ask('POST', path);
    const logged = JSON.stringify(api.logged);
    assert.ok(!logged.includes(token));
    assert.ok(logged.includes('/unsubscribe/…'));
    const { rows } = await api.database.query("select encode(hash, 'hex') as hash from mail_tokens");
    assert.ok(!JSON.stringify(rows).includes(Buffer.from(token, 'base64url').toString('hex')));
  });
});
