/** The status of a search's e-mails, and their unsubscribe link, which needs no key (decisions, 12; RFC 8058). */

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { timeOrderedUuid, type Uuid } from '../../src/engine/domain/ids.ts';
import { claimMail } from '../../src/features/mail/mail-claims.ts';
import { tokenHash } from '../../src/features/mail/mail-recipients.ts';
import { morningAfter } from '../../src/features/mail/mornings.ts';
import { expireAt, NO_CONTACT, upsertAt } from '../support/adverts.ts';
import { startTestApi } from '../support/api.ts';
import { linkedRecipients } from '../support/linked-recipients.ts';
import { valuesOf } from '../support/lists.ts';
import { spaced } from '../support/mail-reader.ts';
import { holdProperty } from '../support/mail-scene.ts';

const api = await startTestApi({ after });

const { sent, record, claimed } = linkedRecipients(api);

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
    for (const [from, status, count] of [
      [mute, 'unavailable', 1],
      [mute, 'active', 0],
    ] as const) {
      const listed = await from.call('GET', `/searches?emailStatus=${status}`);
      assert.equal(listed.body['hydra:totalItems'], count, status);
    }
  });

  it('stay refused until the address changes, even if the same address is sent again', async () => {
    const { '@id': iri } = await created({ notificationRecipient: 'gone@example.org' });
    await api.database.query('update searches set mail_refused_at = now() where id = $1', [iri.slice(10)]);
    const refused = (await api.call('GET', iri)).body;
    assert.equal(refused.emailStatus, 'refused');
    const listed = (await api.call('GET', '/searches?emailStatus=refused')).body['hydra:member'];
    assert.deepEqual(valuesOf(listed, '@id'), [iri]);
    assert.equal((await change(iri, refused)).emailStatus, 'refused');
    assert.equal((await change(iri, { notificationRecipient: 'new@example.org' })).emailStatus, 'active');
  });
});

describe('the link to unsubscribe', () => {
  it('shows a form, and changes nothing, however often it is followed', async () => {
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
      assert.match(policy, /style-src 'sha256-/);
      const page = await response.text();
      if (method === 'GET') assert.match(page, /<p>.* par test\.<\/p>[^]*<form method="post" action="\?">[^]*<ul>/);
      assert.doesNotMatch(page, new RegExp(`${address}|<script|\\sstyle=|\\son\\w+=`));
    }
    assert.equal(await statusOf(iri), 'active');
  });

  it('shows the criteria of the searches in words, but no address and no other searches', async () => {
    const address = 'reader@example.org';
    await api.call('POST', '/searches', { title: 'of somebody else', notificationRecipient: 'other@example.org' });
    await api.call('POST', '/searches', { title: 'silent', notificationRecipient: address });
    const { path } = await sent(address, {
      ...{ title: '<b>Var</b>', transactionType: 0, propertyTypes: [0, 1], budgetMax: 300_000, roomMin: 3, roomMax: 4 },
      ...{ includedCities: ['83137'], includedDepartments: ['13'], includedZipcodes: ['06000'], furnished: false },
      ...{ lat: '43.1', lon: '5.9', radius: '12.5', surfaceMin: 60, excludedCities: ['83061'], publisherTypes: 1 },
      ...{ excludedDepartments: ['04'], excludedInseeCodes: ['83061'], excludedZipcodes: ['83400'] },
      ...{ elevator: true, energyCategories: ['A', 'B'], withVirtualTour: true },
      orMissing: [
        'room',
        'elevator',
        'energy',
        'transactionType',
        'withVirtualTour',
        'withCoherentPrice',
        'excludedAreas',
      ],
      expressions: [
        'expressions[0][0][word]=vue mer&expressions[0][1][word]=travaux&expressions[0][1][options][includes]=false',
        'expressions[1][0][word]=<i>&expressions[1][0][options][strict]=true',
      ].join('&'),
    });
    const page = (await (await ask('GET', path)).text()).replace(/[\u00a0\u202f]/g, ' ');
    for (const line of [
      'Appartement ou Maison à vendre (ou non précisé)',
      'Lieu : à 12,5 km autour de 43.1, 5.9, Bouches-du-Rhône, Toulon ou 06000',
      'En dehors de : Alpes-de-Haute-Provence, Fréjus ou 83400',
      ...[
        'Prix : jusqu&#39;à 300 000 €',
        'Surface : à partir de 60 m²',
        'Nombre de pièces : de 3 à 4 (ou non précisé)',
        'Non meublé',
      ],
      ...['Avec ascenseur (ou non précisé)', 'Classe énergie : A ou B (ou non précisé)'],
      'Annonceur : professionnel',
      'Texte de l&#39;annonce : « vue mer » et sans « travaux », ou exactement « &lt;i&gt; »',
      'Avec visite virtuelle',
    ]) {
      assert.ok(page.includes(`${line}<`), `${line} in ${page}`);
    }
    for (const hidden of ['reader@', 'silent', 'somebody else', 'écarte du marché', 'b&gt;Var'])
      assert.ok(!page.includes(hidden), hidden);
  });

  it('shows a search without criteria, and one of every commune, in a few lines', async () => {
    const communes = [...api.reference.populations()].map(([insee]) => insee);
    const { path } = await sent('many@example.org', { includedCities: communes, withCoherentPrice: null });
    const page = await (await ask('GET', path)).text();
    assert.match(page, /<li>Tous les biens<\/li><li>Lieu : (?:[^,<]+, ){19}[^,<]+ ou 3\d\u202f\d{3} autres<\/li>/);
  });

  it('lists every home of its e-mail as it is now, fifty a page, as long as they are kept, and none for an erased address', async () => {
    const { database } = api;
    const properties = Array.from({ length: 53 }, () => timeOrderedUuid(new Date()));
    for (const [position, propertyUuid] of properties.entries()) {
      const url = position === 0 ? 'javascript:x' : 'https://a.example/x';
      const contact = { ...NO_CONTACT, name: '<i>Jo</i>', phone: '04 94 00 00 00' };
      const advert = { title: `<b>T${position}</b>`, price: 250_000, url, contact };
      await holdProperty(database, upsertAt(0, { propertyUuid, advert }));
    }
    const { token, iri } = await sent('homes@example.org', { includedCities: ['83061'] }, properties);
    const [, cheaper = assert.fail(), propertyUuid = assert.fail()] = properties;
    const gone = { propertyUuid };
    await holdProperty(database, upsertAt(0, { propertyUuid: cheaper, advert: { price: 239_000 } }));
    await holdProperty(database, upsertAt(0, gone), expireAt(1, gone));
    const read = async (query = '') => spaced(await (await ask('GET', `/unsubscribe/${token}${query}`)).text());
    const homesOf = (page: string) => page.split('id="homes"')[1]?.match(/<h3>/g)?.length ?? 0;
    const first = await read();
    assert.match(first, /id="homes"><h2>Les 53 biens[^]*aria-current="page">Page 1<[^]*href="\?page=2#homes"/);
    for (const query of ['', '?page=-1', '?page=x', '?page=1.5']) assert.equal(homesOf(await read(query)), 50, query);
    for (const query of ['?page=2', '?page=99']) assert.equal(homesOf(await read(query)), 3, query);
    const all = first + (await read('?page=2'));
    assert.match(all, /<a href="https:\/\/a\.example\/x" rel="noreferrer">&lt;b&gt;T5&lt;/);
    assert.match(all, /239 000 €/);
    assert.match(all, /N&#39;est plus en ligne/);
    assert.doesNotMatch(all, /javascript:|<b>/);
    const contact = /&lt;i&gt;Jo&lt;[^]*<a href="tel:0494000000"/;
    assert.match(all, contact);
    assert.equal(all.match(/tel:/g)?.length, 1, 'of the home without a link');
    await change(iri, { hidePropertyContact: true });
    assert.doesNotMatch((await read()) + (await read('?page=2')), /tel:|Jo/);
    const none = /Les biens de cet e-mail ne sont plus affichés/;
    const old = timeOrderedUuid(new Date(Date.now() - 31 * 86_400_000));
    const letterIs = async (id: Uuid) => {
      await database.query(
        'update mail_items set mail_id = $1 where mail_id = (select mail_id from mail_tokens where hash = $2)',
        [id, tokenHash(token)],
      );
      await database.query('update mail_tokens set mail_id = $1 where hash = $2', [id, tokenHash(token)]);
    };
    await letterIs(old);
    assert.match(await read(), none);
    await letterIs(timeOrderedUuid(new Date()));
    assert.match(await read(), /Fréjus[^]*Les 53 biens/);
    // The client has since hidden one of the properties.
    await api.call('PUT', `${iri}/properties/${properties[9]}/mark`, { state: 'hidden' });
    assert.match(await read(), /Les 52 biens/);
    await database.query('delete from mail_items where property_uuid <> $1', [properties[0]]);
    assert.match(await read(), /Le bien de cet e-mail/);
    assert.equal((await api.call('DELETE', '/recipients/homes@example.org')).status, 204);
    await created({ notificationRecipient: 'homes@example.org', includedCities: ['/cities/83061'] });
    const erased = await read();
    assert.match(erased, /Votre adresse a été effacée/);
    assert.doesNotMatch(erased, /Fréjus|biens? de cet e-mail|\?search=/);
  });

  it('unsubscribes with one click, permanently, and cancels waiting e-mails', async () => {
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

  it('does not cancel e-mails whose search now has another address', async () => {
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

  it('offers to undo the unsubscription, after which e-mails are sent again', async () => {
    const { iri, path } = await sent('back@example.org');
    const done = await (await ask('POST', path)).text();
    for (const page of [done, await (await ask('GET', path)).text()]) {
      assert.match(page, /<form method="post" action="\?again"><button>Recevoir à nouveau/);
    }
    assert.equal(await statusOf(iri), 'unsubscribed');
    assert.equal((await ask('POST', `${path}?again`)).status, 200);
    assert.equal(await statusOf(iri), 'active');
    assert.match(await (await ask('GET', path)).text(), /<form method="post" action="\?"><button/);
    assert.equal((await ask('POST', `${path.slice(0, -2)}zz?again`)).status, 404);
  });

  it('stops only one search, of its own recipient, until this is undone', async () => {
    const address = 'stops@example.org';
    const [one, two, other] = [await sent(address), await sent(address), await sent('bystander@example.org')];
    const waiting = [await record(one, { gatherMs: 300_000 }), await record(two, { gatherMs: 300_000 })];
    const idOf = ({ iri }: { readonly iri: string }) => iri.slice('/searches/'.length);
    const pageOf = async () => (await ask('GET', one.path)).text();
    assert.equal((await pageOf()).match(/\?search=[\w-]+"/g)?.length, 2);
    const stop = `${one.path}?search=${idOf(one)}`;
    for (const _ of [1, 2]) assert.equal((await ask('POST', stop)).status, 200);
    const statuses = async () => Promise.all([one, two, other].map(({ iri }) => statusOf(iri)));
    assert.deepEqual(await statuses(), ['unsubscribed', 'active', 'active']);
    const states = async () =>
      Promise.all(waiting.map(async (id) => (await api.call('GET', `/deliveries/${id}`)).body.status));
    assert.deepEqual(await states(), ['cancelled', 'queued']);
    // An item recorded by a transaction that had read the search before the unsubscription is not sent.
    await record(one);
    assert.deepEqual(valuesOf((await claimed(one))?.items ?? [], 'id'), [two.waiting, waiting[1]]);
    const gone = (await created({ notificationRecipient: address }))['@id'];
    assert.equal((await api.call('DELETE', gone)).status, 204);
    for (const search of [idOf(other), gone.slice('/searches/'.length), idOf(one).slice(1), '', "'"]) {
      assert.equal((await ask('POST', `${one.path}?search=${search}`)).status, 404, search);
    }
    assert.deepEqual(await statuses(), ['unsubscribed', 'active', 'active']);
    assert.match(await pageOf(), new RegExp(`action="\\?search=${idOf(one)}&amp;again"`));
    assert.equal((await ask('POST', `${stop}&again`)).status, 200);
    assert.deepEqual(await statuses(), ['active', 'active', 'active']);
  });

  it('makes e-mails less frequent than the client has set, including waiting ones, until this is undone', async () => {
    const [address, frequency] = ['rarely@example.org', 'weekly' as const];
    const [instant, weekly] = [await sent(address), await sent(address, { notificationFrequency: frequency })];
    const chosen = async (query: string) => {
      assert.equal((await ask('POST', `${instant.path}?${query}`)).status, 200);
      const read = await Promise.all([instant, weekly].map(async ({ iri }) => (await api.call('GET', iri)).body));
      return read.map((body) => `${body.notificationFrequency} ${body.emailFrequencyChosen}`);
    };
    const waiting = [await record(instant, { gatherMs: 300_000 }), weekly.waiting];
    const dues = async (): Promise<readonly Date[]> => {
      const text = 'select gathers_from as at from mail_items where id = any($1) order by at';
      const { rows } = await api.database.query<{ at: Date }>(text, [waiting]);
      return valuesOf(rows, 'at');
    };
    const mornings = async (): Promise<readonly Date[]> => {
      const text = `select ${morningAfter('frequency', 'now()')} as at from unnest('{daily,weekly}'::text[]) as frequency`;
      return valuesOf((await api.database.query<{ at: Date }>(text)).rows, 'at');
    };
    assert.match(await (await ask('GET', instant.path)).text(), /frequency=daily"[^]*frequency=weekly"/);
    assert.deepEqual(await chosen('frequency=daily'), ['instant daily', 'weekly daily']);
    assert.deepEqual(await dues(), await mornings());
    const { emailFrequencyChosen } = await change(instant.iri, { emailFrequencyChosen: 'weekly' });
    assert.equal(emailFrequencyChosen, 'daily');
    const page = await (await ask('GET', instant.path)).text();
    assert.match(page, /frequency=weekly"[^]*frequency&amp;again"/);
    assert.doesNotMatch(page, /frequency=daily"/);
    // An item recorded by a transaction that had read the former frequency waits as well.
    await record(instant);
    assert.equal(await claimed(instant), null);
    for (const query of [
      'frequency=instant',
      'frequency=',
      'frequency=daily&search=x',
      'frequency=a&frequency=daily',
    ]) {
      assert.equal((await ask('POST', `${instant.path}?${query}`)).status, 404, query);
    }
    assert.deepEqual(await chosen('frequency=weekly'), ['instant weekly', 'weekly weekly']);
    const [, monday] = await mornings();
    assert.deepEqual(await dues(), [monday, monday]);
    assert.deepEqual(await chosen('frequency&again'), ['instant null', 'weekly null']);
    const [first = assert.fail(), second] = await dues();
    assert.deepEqual([first <= new Date(), second], [true, monday]);
    assert.equal((await claimed(instant))?.items.length, 2);
  });

  it('works with the twelve digits that earlier e-mails have before the token', async () => {
    const { iri, token } = await sent('earlier@example.org');
    assert.equal((await ask('GET', `/unsubscribe/0123456789ab.${token}`)).status, 200);
    assert.equal((await ask('POST', `/unsubscribe/0123456789ab.${token}`)).status, 200);
    assert.equal(await statusOf(iri), 'unsubscribed');
  });

  it('is unknown if its token is changed, shortened or extended', async () => {
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

  it('is not written to the log, and only as a hash to the database', async () => {
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
