/** Stored data about a recipient of e-mails: its disclosure and its erasure (decisions, sections 7 and 12). */

import assert from 'node:assert/strict';
import { appendFile, link as hardLink, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { createRandom } from '../../bench/adverts/seeded-random.ts';
import { randomUuid, timeOrderedUuid, type Uuid } from '../../src/engine/domain/ids.ts';
import type { Search } from '../../src/engine/domain/search.ts';
import { foldText } from '../../src/engine/domain/text.ts';
import { type DatabasePool, transaction } from '../../src/engine/store/database.ts';
import { insertProperties } from '../../src/engine/store/properties.ts';
import { readRoutes } from '../../src/engine/store/search-routes.ts';
import { readSearch } from '../../src/engine/store/searches.ts';
import { insertMailItems } from '../../src/features/mail/mail.ts';
import { claimMail, readMailTurns } from '../../src/features/mail/mail-claims.ts';
import { eraseItems } from '../../src/features/recipients/erasure.ts';
import { createChoiceSync, keepBeside } from '../../src/features/recipients/recipient-journal.ts';
import { heldAfter, upsertAt } from '../support/adverts.ts';
import { startTestApi } from '../support/api.ts';
import { assertGone, everyRow } from '../support/erasure.ts';
import { tuplesOf, valuesOf } from '../support/lists.ts';
import { keepBytes, mailItemOf, settleMail } from '../support/mail-scene.ts';
import { emptyDirectory } from '../support/servers.ts';
import { runStatements } from '../support/statements.ts';
import { untilIs } from '../support/until.ts';

const directory = await emptyDirectory({ after });
const api = await startTestApi({ after }, { keepChoice: keepBeside(() => directory, assert.fail) });
const { database, clientId } = api;

const pathOf = (address: string): string => `/recipients/${encodeURIComponent(address)}`;
const NOTIFYING = { title: 'x', notificationEnabled: true };
const created = async (notificationRecipient: string, members: object = {}, key: string | null = null) => {
  const body = { ...NOTIFYING, notificationRecipient, ...members };
  const answered = await api.call('POST', '/searches', body, key === null ? {} : { key });
  assert.equal(answered.status, 201, answered.text);
  return answered.body;
};
const searchOf = async (iri: string, client: Uuid = clientId): Promise<Search> => {
  const search = await readSearch(database, client, iri.slice(10) as Uuid);
  assert.ok(search);
  return search;
};

/** Records an item as a recorder that has read this version of `search`. */
async function record(search: Search): Promise<Uuid> {
  const item = mailItemOf(search, timeOrderedUuid(new Date()), new Date());
  await runStatements(database, insertMailItems([item], new Date(), 0));
  return item.id;
}

async function claimNext(search: Search) {
  const turn = (await readMailTurns(database, 100)).find(({ key }) => key === search.mail.key);
  return turn && claimMail(database, turn, { leaseMs: 600_000, now: new Date() });
}

/** Claims the next e-mail to the search's recipient, and stores bytes that contain the recipient's address. */
async function claim(search: Search) {
  const mail = await claimNext(search);
  if (!mail) return null;
  await keepBytes(database, mail, Buffer.from(`To: ${mail.address}`));
  return mail;
}

describe('a recipient', () => {
  it('is shown with its searches, consent, e-mails and outcomes, by its address in any case', async () => {
    const address = 'held@example.org';
    const consent = { source: 'form', at: '2026-03-10T08:15:00+01:00' };
    const { '@id': iri, notificationConsent } = await created(address, { notificationConsent: consent });
    assert.deepEqual(notificationConsent, consent);
    const search = await searchOf(iri);
    await record(search);
    const mail = await claim(search);
    assert.ok(mail);
    await settleMail(database, mail, 'delivered');
    const { status, body } = await api.call('GET', pathOf('Held@Example.org'));
    assert.equal(status, 200);
    assert.deepEqual(body.searches, [
      {
        search: iri,
        title: 'x',
        publicTitle: null,
        mentionsOnly: false,
        mayContain: false,
        notificationConsent: consent,
        refusedAt: null,
        deletedAt: null,
        marks: [],
      },
    ]);
    const [email] = body.emails;
    assert.deepEqual([email.status, email.items, email.attempts[0].statusCode], ['delivered', 1, 250]);
    for (const other of ['eld@example.org', 'held+x@example.org', 'nobody@example.org', 'no-address', '"']) {
      assert.equal((await api.call('GET', pathOf(other))).status, 404, other);
      assert.equal((await api.call('DELETE', pathOf(other))).status, 404, other);
    }
    assert.equal((await api.call('GET', iri)).body.notificationRecipient, address);
  });

  it('is listed once with its searches, status, consent and last e-mail, by address, only for its client', async () => {
    const key = await api.newClient('list of recipients');
    const list = async (query = '') => (await api.call('GET', `/recipients${query}`, undefined, { key })).body;
    const consents = ['2026-03-10T08:15:00+01:00', '2026-03-10T08:14:00Z'].map((at) => ({ source: `of ${at}`, at }));
    const of = (address: string, members: object) => created(address, members, key);
    const first = await of('Zoe@example.org', { notificationConsent: consents[1] });
    await of('zoe@EXAMPLE.org', { notificationConsent: consents[0], notificationEnabled: false });
    await of('ana@example.org', { notificationEnabled: false });
    await of('bob@example.org', {});
    await database.query(
      `update searches set mail_refused_at = now() where members ->> 'notificationRecipient' = 'bob@example.org'`,
    );
    const { rows } = await database.query('select client_id from searches where id = $1', [first['@id'].slice(10)]);
    const search = await searchOf(first['@id'], rows[0].client_id);
    const before = await list('?address=ZOE');
    await record(search);
    const mail = await claim(search);
    assert.ok(mail);
    await settleMail(database, mail, 'delivered');
    const zoe = { searches: 2, status: 'active', consent: consents[1] };
    const { 'hydra:member': members, 'hydra:totalItems': total } = await list();
    assert.deepEqual(tuplesOf(members, '@id', 'address', 'searches', 'status', 'consent'), [
      ['/recipients/ana%40example.org', 'ana@example.org', 1, 'off', null],
      ['/recipients/bob%40example.org', 'bob@example.org', 1, 'refused', null],
      ['/recipients/zoe%40example.org', 'zoe@example.org', zoe.searches, zoe.status, zoe.consent],
    ]);
    const mailedAt = valuesOf([...before['hydra:member'], ...members], 'lastMailAt');
    assert.deepEqual([total, mailedAt.map((at) => at !== null)], [3, [false, false, false, true]]);
    const page = await list('?order[id]=desc&itemsPerPage=1&page=2');
    assert.deepEqual([page['hydra:totalItems'], ...valuesOf(page['hydra:member'], 'address')], [3, 'bob@example.org']);
    assert.equal((await list('?address=%25'))['hydra:totalItems'], 0);
    const erased = await api.call('DELETE', members[2]['@id'], undefined, { key });
    assert.deepEqual([erased.status, (await list())['hydra:totalItems']], [204, 2]);
    assert.ok(!JSON.stringify((await api.call('GET', '/recipients?itemsPerPage=100')).body).includes('ana@'));
  });

  it('is erased from every row, and waiting e-mails are not sent', async () => {
    const address = "o'gone+x@example.org";
    const near = `far.${address}`;
    const { '@id': iri } = await created(address, {
      title: `Alertes de ${address.toUpperCase()} et ${near}`,
      publicTitle: `Pour ${address}`,
      endpointRecipient: 'https://hooks.example.com/x',
      context: { customer: address, url: `https://crm.example/?mail=${encodeURIComponent(address)}&x=1` },
      notificationConsent: { source: `e-mail of ${address}`, at: '2026-03-10T08:15:00Z' },
    });
    const mentioning = await created('mentions@example.org', {
      context: { note: [`copy to ${address}.`] },
      notificationReplyTo: address.toUpperCase(),
      notificationConsent: { source: `by ${address}`, at: '2026-03-10T08:15:00Z' },
    });
    const [marked, uuid] = [(await created('marks@example.org'))['@id'], randomUuid()];
    const stored = heldAfter(upsertAt(0, { propertyUuid: uuid }));
    await runStatements(database, insertProperties([{ stored, expiredAt: null }]));
    const mark = { state: 'hidden', reason: `no garden, says ${address}`, note: address.toUpperCase() };
    assert.equal((await api.call('PUT', `${marked}/properties/${uuid}/mark`, mark)).status, 200);
    const { body: shown } = await api.call('GET', pathOf(address));
    const { reason, note } = mark;
    assert.deepEqual(shown.searches.find(({ search }: { search: string }) => search === marked).marks, [
      { property: `/documents/properties/${uuid}`, reason, note },
    ]);
    const deleted = await created(address);
    await api.call('DELETE', deleted['@id']);
    const keyed = { ...NOTIFYING, notificationRecipient: address };
    for (const key of [address, 'a-key']) {
      assert.equal((await api.call('POST', '/searches', keyed, { headers: { 'Idempotency-Key': key } })).status, 201);
    }
    const search = await searchOf(iri);
    await record(search);
    const tried = await claim(search);
    assert.ok(tried);
    await settleMail(database, tried, 'retry_wait');
    await database.query(
      'update attempts set response_head = $1 where delivery_id in (select id from mail_items where search_number = $2)',
      [`451 <${address}> is busy`, search.number],
    );
    await record(search);
    // A waiting e-mail to another recipient, whose Reply-To has the erased address.
    const toOther = await searchOf(mentioning['@id']);
    await record(toOther);
    const waiting = await claim(toOther);
    assert.ok(waiting);
    await settleMail(database, waiting, 'retry_wait');
    assert.ok((await everyRow(database)).includes(address));
    assert.equal((await api.call('DELETE', pathOf(address.toUpperCase()))).status, 204);
    const again = await claimNext(toOther);
    assert.deepEqual([again?.id, again?.letter], [waiting.id, null]);

    const rows = await everyRow(database);
    assertGone(rows.replaceAll(near, ''), address);
    assertGone(rows.replaceAll(foldText(near), ''), foldText(address));
    assert.ok(rows.includes(near));
    const after = (await api.call('GET', iri)).body;
    assert.deepEqual([after.title, after.publicTitle], [`Alertes de … et ${near}`, 'Pour …']);
    assert.deepEqual(after.context, { customer: '…', url: 'https://crm.example/?mail=…&x=1' });
    assert.deepEqual([after.notificationRecipient, after.notificationConsent, after.emailStatus], [null, null, 'off']);
    assert.deepEqual([after.notificationEnabled, after.endpointRecipient], [true, 'https://hooks.example.com/x']);
    const other = (await api.call('GET', mentioning['@id'])).body;
    assert.deepEqual(
      [other.notificationRecipient, other.notificationConsent.source, other.notificationReplyTo, other.context],
      ['mentions@example.org', 'by …', null, { note: ['copy to ….'] }],
    );
    const { body: left } = await api.call('GET', `${marked}/properties/${uuid}/mark`);
    assert.deepEqual([left.state, left.reason, left.note], ['hidden', 'no garden, says …', '…']);
    const { rows: items } = await database.query(
      'select state, endpoint, letter, endpoint_key from mail_items where search_number = $1',
      [search.number],
    );
    assert.deepEqual(tuplesOf(items, 'state', 'endpoint', 'letter'), [
      ['cancelled', 'mailto:', null],
      ['cancelled', 'mailto:', null],
    ]);
    assert.ok(items.every(({ endpoint_key }) => endpoint_key !== search.mail.key));
    assert.ok(!JSON.stringify(api.logged).includes('gone'));
  });

  it('gets the e-mail in progress as the last one, regardless of its outcome', async () => {
    for (const ending of ['delivered', 'retry_wait'] as const) {
      const address = `${ending}@example.org`;
      const search = await searchOf((await created(address))['@id']);
      const id = await record(search);
      const mail = await claim(search);
      assert.ok(mail);
      assert.equal((await api.call('DELETE', pathOf(address))).status, 204);
      await settleMail(database, mail, ending);
      const { rows } = await database.query(
        `select state, endpoint, letter, status_code from mail_items join attempts on delivery_id = id where id = $1`,
        [id],
      );
      const status_code = ending === 'delivered' ? 250 : 451;
      assert.deepEqual(rows, [{ state: 'cancelled', endpoint: 'mailto:', letter: null, status_code }]);
      assert.equal(await claim(search), null);
      assertGone(await everyRow(database), address);
    }
  });

  it('is erased from records of a transaction that had read the address before', async () => {
    const address = 'racing@example.org';
    const search = await searchOf((await created(address))['@id']);
    const recorder = await (database as DatabasePool).connect();
    await recorder.query('begin');
    const item = mailItemOf(search, timeOrderedUuid(new Date()), new Date());
    for (const { text, values } of insertMailItems([item], new Date(), 0)) await recorder.query(text, [...values]);
    const erasing = api.call('DELETE', pathOf(address));
    await untilIs(
      async () =>
        (await api.call('GET', search.members.title === 'x' ? `/searches/${search.id}` : '')).body
          .notificationRecipient,
      null,
    );
    await recorder.query('commit');
    recorder.release();
    assert.equal((await erasing).status, 204);
    assertGone(await everyRow(database), address);
    // Retention erases an item that was recorded by a transaction that outlasted the erasure.
    await runStatements(database, insertMailItems([mailItemOf(search, item.propertyUuid, new Date())], new Date(), 0));
    await eraseItems(database, "recipient_key from mail_choices where kind = 'erasure'");
    assertGone(await everyRow(database), address);
  });

  it('does not cancel waiting e-mails whose search now has another address', async () => {
    const address = 'former@example.org';
    const { '@id': iri } = await created(address);
    const id = await record(await searchOf(iri));
    await api.call('PUT', iri, { notificationRecipient: 'present@example.org' });
    assert.equal((await api.call('DELETE', pathOf(address))).status, 204);
    const mail = await claim(await searchOf(iri));
    assert.deepEqual([mail?.address, mail?.items.map((item) => item.id)], ['present@example.org', [id]]);
  });

  it('of two clients can be erased at one of them', async () => {
    const address = 'both@example.org';
    const key = await api.newClient('both');
    const own = await created(address);
    const theirs = await created(address, {}, key);
    const { rows } = await database.query<{ id: Uuid }>("select id from clients where name = 'both'");
    const search = await searchOf(theirs['@id'], rows[0]?.id);
    await record(search);
    const rowsOf = async () => (await everyRow(database)).split('\n').filter((row) => row.includes(address));
    assert.notEqual(search.mail.key, (await searchOf(own['@id'])).mail.key);
    assert.equal((await api.call('DELETE', pathOf(address))).status, 204);
    const left = await rowsOf();
    assert.equal(left.length, 2, left.join('\n'));
    assert.equal((await claim(search))?.address, address);
    assert.equal((await api.call('GET', theirs['@id'], undefined, { key })).body.emailStatus, 'active');
    assert.deepEqual((await api.call('GET', pathOf(address), undefined, { key })).body.erasedAt, null);
  });

  it('that was erased is stored only as an objection, and can be erased again', async () => {
    const address = 'again@example.org';
    await created(address);
    for (const _ of [1, 2]) assert.equal((await api.call('DELETE', pathOf(address))).status, 204);
    const { status, body } = await api.call('GET', pathOf(address));
    assert.deepEqual([status, body.searches, body.emails], [200, [], []]);
    assert.ok(Date.parse(body.erasedAt) > 0);
  });
});

describe('consent', () => {
  const consented = (at: Date, source = 'form') => ({ notificationConsent: { source, at: at.toISOString() } });

  it('belongs to an address: another address has none unless the same write states it', async () => {
    const given = consented(new Date());
    const { '@id': iri } = await created('one@example.org', given);
    const put = async (members: object) => (await api.call('PUT', iri, members)).body.notificationConsent;
    assert.deepEqual(await put({ notificationRecipient: 'ONE@example.org' }), given.notificationConsent);
    assert.equal(await put({ notificationRecipient: 'two@example.org' }), null);
    assert.deepEqual(await put({ notificationRecipient: 'three@example.org', ...given }), given.notificationConsent);
    assert.equal(await put({ notificationRecipient: null }), null);
  });

  it('is required if so configured, for each search of an e-mail, and clearing it cancels waiting e-mails', async () => {
    const strict = await startTestApi({ after }, { settings: { isConsentRequired: true } });
    const rows = strict.database;
    const make = async (members: object) => {
      const body = { ...NOTIFYING, notificationRecipient: 'jo@example.org', ...members };
      const answered = (await strict.call('POST', '/searches', body)).body;
      const search = await readSearch(rows, strict.clientId, answered['@id'].slice(10));
      assert.ok(search);
      return { iri: answered['@id'], status: answered.emailStatus, search };
    };
    const without = await make({});
    const withConsent = await make(consented(new Date()));
    assert.deepEqual([without.status, withConsent.status], ['consent-missing', 'active']);
    const items = [without, withConsent, withConsent].map(({ search }) => {
      return mailItemOf(search, timeOrderedUuid(new Date()), new Date());
    });
    await runStatements(rows, insertMailItems(items.slice(0, 2), new Date(), 0));
    const [turn] = await readMailTurns(rows, 1);
    assert.ok(turn);
    const options = { leaseMs: 60_000, now: new Date(), isConsentRequired: true };
    const mail = await claimMail(rows, turn, options);
    assert.deepEqual(valuesOf(mail?.items ?? [], 'id'), [items[1]?.id]);
    await runStatements(rows, insertMailItems(items.slice(2), new Date(), 0));
    const cleared = (await strict.call('PATCH', withConsent.iri, { notificationConsent: null })).body;
    assert.equal(cleared.emailStatus, 'consent-missing');
    await strict.call('PATCH', withConsent.iri, consented(new Date()));
    const states = await Promise.all(
      items.map(async ({ id }) => {
        return (await rows.query<{ state: string }>('select state from mail_items where id = $1', [id])).rows[0]?.state;
      }),
    );
    assert.deepEqual(states, ['cancelled', 'sending', 'cancelled']);
  });
});

const ACTIONS = ['save', 'consent', 'old consent', 'erase', 'leave', 'return', 'new', 'clear'] as const;

describe('histories of a recipient', () => {
  it('agree with a model, in every order of saving, consent, unsubscription and erasure', async () => {
    const random = createRandom(66);
    for (let history = 0; history < 12; history++) {
      const address = `history-${history}@example.org`;
      const first = await searchOf((await created(address))['@id']);
      await record(first);
      const { token } = (await claim(first)) ?? assert.fail();
      let [iri, stale] = [`/searches/${first.id}`, new Date()];
      const model = { hasAddress: true, isErased: false, isUnsubscribed: false };
      const steps: string[] = [];
      for (let step = 0; step < 10; step++) {
        const action = random.pick(ACTIONS);
        steps.push(action);
        const at = action === 'consent' ? new Date() : action === 'old consent' ? stale : undefined;
        const notificationConsent = at === undefined ? undefined : { source: 'form', at: at.toISOString() };
        if (action === 'erase') {
          stale = new Date();
          assert.equal((await api.call('DELETE', pathOf(address))).status, 204);
          Object.assign(model, { hasAddress: false, isErased: true });
        } else if (action === 'leave' || action === 'return') {
          const path = `/unsubscribe/${token}${action === 'return' ? '?again' : ''}`;
          assert.equal((await fetch(`${api.baseUrl}${path}`, { method: 'POST' })).status, 200);
          model.isUnsubscribed = action === 'leave';
        } else {
          const members = { notificationRecipient: action === 'clear' ? null : address, notificationConsent };
          if (action === 'new') iri = (await created(address))['@id'];
          else assert.equal((await api.call('PATCH', iri, members)).status, 200);
          model.hasAddress = action !== 'clear';
          if (action === 'consent') model.isErased = false;
        }
        const { emailStatus } = (await api.call('GET', iri)).body;
        const isOpposed = model.isUnsubscribed || model.isErased;
        const said = model.isUnsubscribed ? 'unsubscribed' : model.isErased ? 'consent-missing' : 'active';
        assert.equal(emailStatus, model.hasAddress ? said : 'off', steps.join(', '));
        const listed = (await api.call('GET', `/searches?emailStatus=${emailStatus}&order[id]=desc&itemsPerPage=100`))
          .body;
        assert.ok(valuesOf(listed['hydra:member'], '@id').includes(iri), steps.join(', '));
        const stored = (await api.call('GET', pathOf(address))).body;
        assert.equal((stored.erasedAt ?? null) !== null, model.isErased, steps.join(', '));
        const search = await searchOf(iri);
        const routes = await readRoutes(database, { numbers: [search.number], horizon: null, withMail: true });
        assert.equal(
          (routes.get(search.number)?.mail ?? null) !== null,
          model.hasAddress && !isOpposed,
          steps.join(', '),
        );
      }
    }
  });
});

describe('a restored database', () => {
  it('applies choices from the journal file, and sends no e-mails to recipients who have unsubscribed since', async () => {
    const sync = createChoiceSync(database, () => directory);
    await sync();
    const [gone, lifted] = ['restored@example.org', 'restored-lifted@example.org'];
    const search = await searchOf((await created(gone))['@id']);
    await record(search);
    await created(lifted);
    const mentioned = "o'nly+mentioned@example.org";
    const mentioning = await created('bystander@example.org', {
      title: `Copies to ${mentioned}.`,
      context: { url: `https://crm.example/?mail=${encodeURIComponent(mentioned)}&x=1` },
    });
    const leaving = await Promise.all(
      ['left', 'returned', 'stopped', 'rarely']
        .map((name) => `${name}@example.org`)
        .map(async (address) => {
          const search = await searchOf((await created(address))['@id']);
          await record(search);
          const { token } = (await claim(search)) ?? assert.fail();
          await record(search);
          const post = (query: string) => fetch(`${api.baseUrl}/unsubscribe/${token}${query}`, { method: 'POST' });
          return { search, post };
        }),
    );
    const [left = assert.fail(), returned = assert.fail(), stopped = assert.fail(), rarely = assert.fail()] = leaving;
    await returned.post('');
    const tables = ['searches', 'mail_items', 'mail_recipients', 'mail_choices'];
    for (const table of tables) await database.query(`create table before_${table} as table ${table}`);
    for (const address of [gone, lifted, mentioned]) {
      assert.equal((await api.call('DELETE', pathOf(address))).status, 204, address);
    }
    await created(lifted, { notificationConsent: { source: 'form', at: new Date().toISOString() } });
    for (const query of ['', '', '?again', '']) assert.equal((await left.post(query)).status, 200);
    await returned.post('?again');
    const ofStopped = `?search=${stopped.search.id}`;
    for (const query of [ofStopped, ofStopped, `${ofStopped}&again`, ofStopped]) await stopped.post(query);
    for (const query of ['?frequency=daily', '?frequency&again', '?frequency=weekly']) await rarely.post(query);
    const [file] = (await readdir(directory)).map((name) => join(directory, name)) as [string];
    const linesOf = async () => (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '');
    const choicesOf = async (search: Search) =>
      (await linesOf()).flatMap((line) => {
        const { key, kind, scope, value } = JSON.parse(line);
        return key === search.mail.key ? [`${kind} ${scope} ${value}`] : [];
      });
    const [leave, comeBack] = ['unsubscription sender true', 'unsubscription sender false'];
    // The lines are written before the answers are sent, once each.
    assert.deepEqual(await choicesOf(left.search), [leave, comeBack, leave]);
    assert.deepEqual(await choicesOf(returned.search), [leave, comeBack]);
    const ofSearch = `unsubscription search:${stopped.search.id}`;
    assert.deepEqual(await choicesOf(stopped.search), [`${ofSearch} true`, `${ofSearch} false`, `${ofSearch} true`]);
    const often = ['daily', 'false', 'weekly'].map((value) => `frequency sender ${value}`);
    assert.deepEqual(await choicesOf(rarely.search), often);
    await sync();
    assert.equal((await choicesOf(left.search)).length, 3);
    for (const table of tables) {
      await database.query(`delete from ${table}`);
      await database.query(`insert into ${table} overriding system value select * from before_${table}`);
      await database.query(`drop table before_${table}`);
    }
    assert.ok((await everyRow(database)).includes(gone));
    // Simulates the next start. A process that has compared file and database reads only the lines added since.
    assert.equal(await createChoiceSync(database, () => directory)(), 7);
    await record(returned.search);
    assert.equal(await claim(left.search), null);
    assert.ok(await claim(returned.search));
    for (const { search } of [stopped, rarely]) assert.equal(await claim(search), null);
    const shown = (await api.call('GET', pathOf('stopped@example.org'))).body.searchUnsubscriptions;
    assert.deepEqual(tuplesOf(shown, 'search', 'resubscribedAt'), [[`/searches/${stopped.search.id}`, null]]);
    assert.equal((await api.call('GET', pathOf('rarely@example.org'))).body.emailFrequencyChosen, 'weekly');
    assert.equal((await searchOf(`/searches/${rarely.search.id}`)).mail.frequencyChosen, 'weekly');
    const { title } = (await api.call('GET', mentioning['@id'])).body;
    assert.equal(title, 'Copies to ….');
    for (const address of [gone, lifted, mentioned]) assertGone(await everyRow(database), address);
    const statusOf = async (address: string) => (await created(address)).emailStatus;
    assert.deepEqual([await statusOf(gone), await statusOf(lifted)], ['consent-missing', 'active']);
    assert.equal(await sync(), 0);
    const lines = await linesOf();
    assertGone(lines.join('\n'), gone);
    // Repeats the last choice: only the last line of each choice is kept, and lines of kinds from a later version.
    const later = JSON.stringify({ ...JSON.parse(lines.at(-1) ?? ''), kind: 'language', value: 'en' });
    await appendFile(file, `${later}\n${`${lines.at(-1)}\n`.repeat(3_000)}`);
    assert.equal(await sync(), 0);
    const ids = (await linesOf())
      .map((line) => JSON.parse(line))
      .map(({ key, kind, scope }) => `${key} ${kind} ${scope}`);
    assert.deepEqual([new Set(ids).size, (await linesOf()).includes(later)], [ids.length, true]);
    assert.equal(await createChoiceSync(database, () => directory)(), 0);
    assert.equal((await api.call('DELETE', pathOf(gone))).status, 204);
    assert.match((await linesOf()).at(-1) ?? '', /"kind":"erasure"/);
    assert.deepEqual(await readdir(directory), [basename(file)]);
  });

  it('does not replace a choice that a recipient makes while it applies older ones', async () => {
    const search = await searchOf((await created('meanwhile@example.org'))['@id']);
    await record(search);
    const { token } = (await claim(search)) ?? assert.fail();
    const post = (query: string) => fetch(`${api.baseUrl}/unsubscribe/${token}${query}`, { method: 'POST' });
    await post('');
    await post('?again');
    await database.query('delete from mail_choices where recipient_key = $1', [search.mail.key]);
    let isRead = false;
    const query = async (...statement: [string, unknown[]]) => {
      const result = await database.query(...statement);
      if (!isRead && / from mail_choices\b/.test(statement[0])) {
        isRead = true;
        assert.equal((await post('')).status, 200);
      }
      return result;
    };
    const slow = { query, connect: () => database.connect() } as unknown as typeof database;
    assert.equal(await createChoiceSync(slow, () => directory)(), 1);
    const { unsubscribedAt } = (await api.call('GET', pathOf('meanwhile@example.org'))).body;
    assert.equal(typeof unsubscribedAt, 'string');
    await record(search);
    assert.equal(await claim(search), null);
  });

  it('erases an address again in every form that a text may have, and no other address', async () => {
    const address = 'anne.roux@example.org';
    const [sure, parts, others] = [
      [
        ...[`Alerte d'${address}`, `pour l'${address}`, `de '${address}'`, `"${address}"`, `{'to':'${address}'}`],
        ...[`Recherche...${address}`, `${address}-Toulon`, `${address}.Toulon`, `jusqu'${address}`, `.${address}`],
        ...[`(${address}), <${address}>; ${address}…`, `a\n${address}\nb`, `%22Anne.Roux%40EXAMPLE%2Eorg%22`],
        ...[`d%27${encodeURIComponent(address)}`, `à ${address}.`, `${address}-toulon`, `${address}.Le 3`],
      ],
      [
        ...[`alerte_${address}`, `acheteur-${address}`, `marie-${address}`, `o'${address}`, `x.${address}`],
        ...[`${address}.uk`, `${address.toUpperCase()}.UK`, `${address}-group.example`, `jo%2B${address}`],
      ],
      ['anne.roux+immo@example.org', `je${address}`, `${address}a`],
    ];
    const texts = [...sure, ...parts, ...others];
    const iris = await Promise.all(
      texts.map(async (title) => {
        const source = { source: title, at: '2026-03-10T08:15:00Z' };
        const members = { title, context: { title: [title] }, notificationConsent: source };
        return (await created('bystander@example.org', members))['@id'];
      }),
    );
    const said = async (iri: string) => {
      const { title, context, notificationConsent } = (await api.call('GET', iri)).body;
      assert.deepEqual([context.title[0], notificationConsent.source], [title, title]);
      return title;
    };
    const remaining = async () => Promise.all(iris.map(said));
    const listed = async () => (await api.call('GET', pathOf(address))).body.searches;
    assert.deepEqual([...valuesOf(await listed(), 'title')].sort(), [...sure, ...parts].sort());
    await database.query('create table before_forms as table searches');
    assert.equal((await api.call('DELETE', pathOf(address))).status, 204);
    const expected = [
      ...sure.map((text) => text.replace(/anne.roux(@|%40)example(.|%2E)org/gi, '…')),
      ...parts,
      ...others,
    ];
    assert.deepEqual(await remaining(), expected);
    assert.deepEqual(
      (await listed())
        .map(({ title, mayContain }: { title: string; mayContain: boolean }) => `${title} ${mayContain}`)
        .sort(),
      parts.map((text) => `${text} true`).sort(),
    );
    await database.query('delete from searches; delete from mail_choices');
    await database.query('insert into searches overriding system value table before_forms; drop table before_forms');
    assert.deepEqual(await remaining(), texts);
    await createChoiceSync(database, () => directory)();
    assert.deepEqual(await remaining(), expected);
  });

  it('shows and erases the notice address of a client, and erases it again after a restore', async () => {
    const address = 'ops@client.example';
    const ofNotices = async () =>
      (await database.query('select notice_address from clients where id = $1', [clientId])).rows[0].notice_address;
    const set = () =>
      database.query('update clients set notice_address = $1 where id = $2', ['Ops@client.example', clientId]);
    assert.equal((await api.call('GET', pathOf(address))).status, 404);
    await set();
    assert.equal((await api.call('GET', pathOf(address))).body.receivesNotices, true);
    assert.equal((await api.call('DELETE', pathOf(address))).status, 204);
    assert.equal(await ofNotices(), null);
    await set();
    await database.query('delete from mail_choices');
    await createChoiceSync(database, () => directory)();
    assert.equal(await ofNotices(), null);
  });

  it('writes no choices through a symbolic link', async () => {
    const name = basename((await readdir(directory))[0] ?? '');
    const beside = await emptyDirectory({ after });
    const others = join(beside, 'others');
    await writeFile(others, 'of root');
    const [at, key] = [new Date(), 'k'];
    const write = async () => {
      const choice = { key, clientId, kind: 'erasure', scope: 'sender', value: true, at } as const;
      await transaction(database, (client) => keepBeside(() => beside, assert.fail)(client, choice));
    };
    for (const [place, ...target] of [
      [symlink, others],
      [symlink, join(beside, 'none')],
      [hardLink, others],
    ] as const) {
      await place(target[0], join(beside, name));
      await assert.rejects(write, /is a link/);
      await rm(join(beside, name));
    }
    assert.deepEqual([await readdir(beside), await readFile(others, 'utf8')], [['others'], 'of root']);
    await write();
    assert.ok((await stat(join(beside, name))).size > 0);
  });
});
