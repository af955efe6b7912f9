/** From recorded items to a real mail server: gathering, retries, failures, one instance or two (decisions, 12). */

import assert from 'node:assert/strict';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { endsWithin } from '../../src/engine/actor/waiting.ts';
import { createPauseGate } from '../../src/engine/broker/pause-gate.ts';
import { ATTEMPTS_MAX } from '../../src/engine/domain/delivery.ts';
import type { Uuid } from '../../src/engine/domain/ids.ts';
import { CLIENT_MAILS_MAX, MAILBOX_MAILS_MAX } from '../../src/engine/domain/mail.ts';
import { deleteClient } from '../../src/engine/store/clients.ts';
import { migrate, transaction } from '../../src/engine/store/database.ts';
import { deleteSearch, readSearch, updateSearch } from '../../src/engine/store/searches.ts';
import { claimMail, giveBackMail, readMailTurns } from '../../src/features/mail/mail-claims.ts';
import { resolveToulon } from '../support/adverts.ts';
import { valuesOf } from '../support/lists.ts';
import { keepBytes, openMailScene, settleMail } from '../support/mail-scene.ts';
import { startTestPostgres, type TestPostgres } from '../support/servers.ts';
import { until, untilIs } from '../support/until.ts';

const JO = 'jo@example.org';

test('items recorded within the gathering time form one e-mail, with all searches of the recipient', async (t) => {
  const scene = await openMailScene(t);
  const [one, two] = [await scene.newSearch(JO), await scene.newSearch(JO, { publicTitle: 'Hyères' })];
  await scene.record(one, 2, { gatherMs: 60_000, title: 'waiting' });
  await scene.record(two, 1, { title: 'due' });
  // Another item of the same recipient, which waits for the daily e-mail of the morning.
  await scene.record({ ...one, members: { ...one.members, notificationFrequency: 'daily' } }, 1);
  scene.start();
  await until(scene.rows, (rows) => rows.filter(({ state }) => state === 'delivered').length === 3);
  assert.equal(scene.smtp.mails.length, 1);
  const [mail] = scene.smtp.mails;
  assert.deepEqual([mail?.to, mail?.from], [JO, 'alerts@vigie.example']);
  assert.equal(mail?.parsed.from?.text, '"Vigie" <alerts@vigie.example>');
  assert.equal(mail?.parsed.subject, '3 nouveautés');
  assert.doesNotMatch(`${mail?.parsed.text}${mail?.parsed.html}`, /private/);
  for (const word of ['Toulon', 'Hyères', 'waiting 0', 'waiting 1', 'due 0'])
    assert.ok(mail?.parsed.text?.includes(word));
  const rows = await scene.rows();
  const delivered = rows.filter(({ state }) => state === 'delivered');
  assert.equal(new Set(delivered.map(({ mail_id }) => mail_id)).size, 1);
  assert.ok(mail?.parsed.messageId?.includes(String(delivered[0]?.mail_id)));
  assert.deepEqual(await scene.attempts(), ['1 250', '1 250', '1 250']);
  assert.ok((await readSearch(scene.database, scene.client, one.id))?.lastAlertAt instanceof Date);
});

test('a property that is hidden in a search is left out of its e-mails, and a retried e-mail is written again', async (t) => {
  const scene = await openMailScene(t);
  const { database } = scene;
  const search = await scene.newSearch(JO);
  const [hidden, later, shown] = (await scene.record(search, 3)).sort();
  const hide = (item: Uuid | undefined) =>
    database.query(
      `insert into search_marks (search_number, property_uuid, state)
       select search_number, property_uuid, 'hidden' from mail_items where id = $1`,
      [item],
    );
  await hide(hidden);
  const first = (await scene.claim()) ?? assert.fail();
  assert.deepEqual(valuesOf(first.items, 'id'), [later, shown]);
  await database.query(
    `update mail_items set state = 'retry_wait', due_at = now(), letter = case when id = $1 then 'written'::bytea end,
       letter_items = case when id = $1 then 2 end
     where state = 'sending'`,
    [shown],
  );
  await hide(later);
  const second = (await scene.claim()) ?? assert.fail();
  assert.deepEqual([second.id, second.letter, valuesOf(second.items, 'id')], [first.id, null, [shown]]);
  assert.deepEqual(await scene.states(), ['cancelled 0', 'cancelled 1', 'sending 2']);
});

test('two instances send each recipient one e-mail', async (t) => {
  const scene = await openMailScene(t);
  for (const name of ['a', 'b', 'c']) {
    const client = await scene.newClient(name);
    for (let number = 0; number < 12; number++) {
      await scene.record(await scene.newSearch(`r${number}@${name}.example`, {}, client), 4);
    }
  }
  scene.start();
  scene.start();
  assert.deepEqual(new Set(await scene.ended()), new Set(['delivered 1']));
  assert.equal(scene.smtp.mails.length, 36);
  assert.equal(new Set(scene.smtp.mails.map(({ to }) => to)).size, 36);
});

test('a claim does not wait for a locked recipient, for example during an erasure', { timeout: 60_000 }, async (t) => {
  const scene = await openMailScene(t);
  await scene.record(await scene.newSearch(JO), 1);
  await giveBackMail(scene.database, (await scene.claim()) ?? assert.fail());
  await transaction(scene.database, async (stored) => {
    await stored.query('select from mail_recipients for update');
    assert.equal(await scene.claim(), null);
  });
  assert.notEqual(await scene.claim(), null);
});

test('a 4yz answer is tried again with the same Message-ID, and six times at most', async (t) => {
  const scene = await openMailScene(t);
  scene.smtp.scriptRecipient('later@example.org', { code: 450 }, { code: 451 }, 'accept');
  scene.smtp.scriptRecipient('never@example.org', { code: 450 });
  await scene.record(await scene.newSearch('later@example.org'), 2);
  const never = await scene.newSearch('never@example.org');
  await scene.record(never, 1);
  scene.start();
  assert.deepEqual(await scene.ended(), ['delivered 3', 'delivered 3', `failed ${ATTEMPTS_MAX}`]);
  const ids = new Set(scene.settled.filter(({ after }) => after.state !== 'failed').map(({ id }) => id));
  assert.equal(ids.size, 2);
  assert.ok(scene.smtp.mails[0]?.parsed.messageId?.includes(String((await scene.rows())[0]?.mail_id)));
  assert.deepEqual(
    (await scene.attempts()).filter((attempt) => attempt.startsWith('6')),
    ['6 450'],
  );
  assert.equal(scene.settled.at(-1)?.outcome.reason, 'the mail server answered 450 to RCPT TO');
  assert.equal((await readSearch(scene.database, scene.client, never.id))?.mail.isRefused, false);
});

test('a 5yz answer is final, and if it is about the recipient, the address is refused for all searches of the client', async (t) => {
  const scene = await openMailScene(t);
  const neighbour = await scene.newClient('b');
  const searches = [await scene.newSearch('gone@example.org'), await scene.newSearch('Gone@example.org')];
  const theirs = await scene.newSearch('gone@example.org', {}, neighbour);
  scene.smtp.scriptRecipient('gone@example.org', { code: 550, text: '5.1.1 <gone@example.org> is unknown' });
  await scene.record(searches[0] as (typeof searches)[number], 1);
  scene.start();
  assert.deepEqual(await scene.ended(), ['failed 1']);
  for (const { id } of searches)
    assert.equal((await readSearch(scene.database, scene.client, id))?.mail.isRefused, true);
  assert.equal((await readSearch(scene.database, neighbour, theirs.id))?.mail.isRefused, false);
  assert.ok(scene.settled.every(({ outcome }) => !String(outcome.reason).includes('@')));
  const spam = await scene.newSearch('spam@example.org');
  scene.smtp.scriptMessage({ code: 554, text: '5.7.1 looks like spam' });
  await scene.record(spam, 1);
  await scene.untilAllEnded();
  assert.equal((await readSearch(scene.database, scene.client, spam.id))?.mail.isRefused, false);
  const late = await scene.newSearch('late@example.org');
  scene.smtp.scriptMessage({ code: 550, text: '5.1.1 no such mailbox' });
  await scene.record(late, 1);
  assert.deepEqual(await scene.ended(), ['failed 1', 'failed 1', 'failed 1']);
  assert.equal((await readSearch(scene.database, scene.client, late.id))?.mail.isRefused, true);
});

test('a mail server that is unavailable, silent or disconnects costs an attempt, and nothing is lost', async (t) => {
  const scene = await openMailScene(t);
  scene.smtp.scriptMessage({ code: 421, text: 'closing' }, 'hang', 'accept');
  await scene.record(await scene.newSearch(JO), 1);
  // Long enough for an answer on a busy machine: only the silent server may exceed it.
  const first = scene.start({ attemptTimeoutMs: 5_000 });
  await until(scene.rows, ([row]) => row?.state === 'delivered');
  await first.drain();
  assert.deepEqual(
    scene.settled.map(({ outcome }) => outcome.error),
    ['status', 'timeout', null],
  );
  await scene.smtp.close();
  await scene.record(await scene.newSearch('other@example.org'), 1);
  const away = scene.start({ retryDelayMs: 60_000 });
  await until(scene.rows, (rows) => rows.at(-1)?.state === 'retry_wait');
  await away.drain();
  assert.equal(scene.settled.at(-1)?.outcome.error, 'connect');
  const garbage = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
  }).listen(0, '127.0.0.1');
  t.after(() => garbage.close());
  await until(async () => garbage.listening, Boolean);
  await scene.database.query('update mail_items set due_at = now()');
  const url = `smtp://127.0.0.1:${(garbage.address() as AddressInfo).port}`;
  const misled = scene.start({ sender: { url }, retryDelayMs: 60_000 });
  await until(scene.rows, (rows) => rows.at(-1)?.attempts === 2 && rows.at(-1)?.state === 'retry_wait');
  await misled.drain();
  assert.equal(scene.settled.at(-1)?.outcome.error, 'protocol');
});

test('an e-mail that the mail server does not answer delays no other recipient', async (t) => {
  const scene = await openMailScene(t);
  scene.smtp.scriptRecipient(JO, 'hang');
  await scene.record(await scene.newSearch(JO), 1);
  scene.start({ attemptTimeoutMs: 3_600_000, drainTimeoutMs: 0 });
  await until(
    async () => scene.smtp.recipients.length,
    (count) => count === 1,
  );
  await scene.record(await scene.newSearch('other@example.org'), 1);
  await until(
    async () => scene.settled.length,
    (count) => count > 0,
  );
  assert.deepEqual(
    scene.smtp.mails.map(({ to }) => to),
    ['other@example.org'],
  );
});

test('the items of a recipient whose e-mail is not answered do not hide those of other recipients', async (t) => {
  const scene = await openMailScene(t);
  scene.smtp.scriptRecipient(JO, 'hang');
  const [search, other] = [await scene.newSearch(JO), await scene.newSearch('other@example.org')];
  await scene.record(search, 1);
  scene.start({ attemptTimeoutMs: 3_600_000, drainTimeoutMs: 0 });
  await until(
    async () => scene.smtp.recipients.length,
    (count) => count === 1,
  );
  // More than are read for a client at once.
  await scene.record(search, 70);
  await scene.record(other, 1);
  await until(
    async () => scene.smtp.mails.length,
    (count) => count === 1,
  );
});

test('a drain does not wait for a slot when every attempt is slow', async (t) => {
  const scene = await openMailScene(t);
  for (let number = 0; number < 10; number++) {
    scene.smtp.scriptRecipient(`r${number}@example.org`, 'hang');
    await scene.record(await scene.newSearch(`r${number}@example.org`), 1);
  }
  const mailing = scene.start({ attemptTimeoutMs: 3_600_000, drainTimeoutMs: 0 });
  await until(
    async () => scene.smtp.recipients.length,
    (count) => count === 8,
  );
  assert.equal(await endsWithin(mailing.drain(), 10_000), true);
});

test('an e-mail whose process died counts as aborted, and is sent again under the same Message-ID', async (t) => {
  const scene = await openMailScene(t);
  await scene.record(await scene.newSearch(JO), 2);
  const dying = await scene.claim({ leaseMs: 1 });
  scene.start();
  await scene.untilAllEnded();
  assert.equal(scene.smtp.mails.length, 1);
  assert.ok(scene.smtp.mails[0]?.parsed.messageId?.includes(String(dying?.id)));
  assert.deepEqual(await scene.attempts(), ['1 aborted', '1 aborted', '2 250', '2 250']);
});

test('an e-mail that a stall has delayed is sent immediately, without another attempt or count', async (t) => {
  const scene = await openMailScene(t);
  const search = await scene.newSearch(JO);
  await scene.record(search, 2);
  const warned: string[] = [];
  let stalls = 3;
  let stalledMs = 0;
  scene.start({
    retryDelayMs: 3_600_000,
    nowMs: () => performance.now() + stalledMs,
    // Called while the e-mail is written; the clock makes the writing take too long.
    resolvePlace(query) {
      if (stalls > 0) {
        stalls -= 1;
        stalledMs += 8_000;
      }
      return resolveToulon(query);
    },
    onTransientError: (_what, error) => void warned.push(error.message),
  });
  assert.deepEqual(await scene.ended(), ['delivered 1', 'delivered 1']);
  assert.equal(scene.smtp.mails.length, 1);
  assert.deepEqual(await scene.attempts(), ['1 250', '1 250']);
  assert.deepEqual(await scene.counts(), [1, 1]);
  assert.ok(warned.length > 0);
  assert.ok(warned.every((message) => message.includes('it is sent later')));
});

test('an e-mail with a hundred items is returned with all of them', async (t) => {
  const scene = await openMailScene(t);
  await scene.record(await scene.newSearch(JO), 100);
  await giveBackMail(scene.database, (await scene.claim()) ?? assert.fail());
  assert.deepEqual(new Set(await scene.states()), new Set(['queued 0']));
});

test('a returned new e-mail includes later items, a retried one keeps its bytes, and an ended one is unchanged', async (t) => {
  const scene = await openMailScene(t);
  const search = await scene.newSearch(JO);
  const claim = async () => (await scene.claim()) ?? assert.fail();
  await scene.record(search, 1);
  const first = await claim();
  await keepBytes(scene.database, first, Buffer.from('one item'));
  await giveBackMail(scene.database, first);
  await scene.record(search, 1);
  const second = await claim();
  assert.deepEqual([second.items.length, second.letter, second.attempt], [2, null, 1]);
  const bytes = Buffer.from('two items');
  await keepBytes(scene.database, second, bytes);
  // The first claim has ended already, so this has no effect.
  await giveBackMail(scene.database, first);
  await settleMail(scene.database, second, 'retry_wait');
  await giveBackMail(scene.database, second);
  const third = await claim();
  assert.deepEqual([third.id, third.attempt, third.letter], [second.id, 2, bytes]);
  await giveBackMail(scene.database, third);
  const again = await claim();
  assert.deepEqual([again.id, again.attempt, again.letter], [second.id, 2, bytes]);
  assert.deepEqual(await scene.counts(), [1, 1]);
});

test('a search that is deleted, with its client or alone, silenced or without an address sends no waiting e-mail', async (t) => {
  const scene = await openMailScene(t);
  const { database } = scene;
  const searches = await Promise.all([1, 2, 3, 4].map((n) => scene.newSearch(`r${n}@example.org`)));
  const [deleted, silenced, removed, again] = searches;
  assert.ok(deleted && silenced && removed && again);
  for (const search of searches) await scene.record(search, 2);
  const silence = (id: Uuid, notificationEnabled: boolean) =>
    updateSearch(database, scene.client, id, { merge: ({ members }) => ({ ...members, notificationEnabled }) });
  await deleteSearch(database, scene.client, deleted.id);
  await silence(silenced.id, false);
  await updateSearch(database, scene.client, removed.id, {
    merge: ({ members }) => ({ ...members, notificationRecipient: null }),
  });
  await silence(again.id, false);
  await silence(again.id, true);
  const gone = await scene.newClient('b');
  await scene.record(await scene.newSearch('r5@example.org', {}, gone), 2);
  await deleteClient(database, gone);
  scene.start();
  assert.deepEqual(new Set(await scene.ended()), new Set(['cancelled 0']));
  assert.deepEqual(scene.smtp.recipients, []);
});

test('waiting items follow a change of the address, whether tried before or not', async (t) => {
  const scene = await openMailScene(t);
  const [search, tried] = [await scene.newSearch('tpyo@example.org'), await scene.newSearch('full@example.org')];
  scene.smtp.scriptRecipient('full@example.org', { code: 452 });
  await scene.record(tried, 1);
  const first = scene.start({ retryDelayMs: 60_000 });
  await until(scene.rows, ([row]) => row?.state === 'retry_wait');
  await first.drain();
  await scene.record(search, 2);
  for (const { id } of [search, tried]) {
    await updateSearch(scene.database, scene.client, id, {
      merge: ({ members }) => ({ ...members, notificationRecipient: JO }),
    });
  }
  await scene.database.query('update mail_items set due_at = now()');
  scene.start();
  const rows = await scene.untilAllEnded();
  assert.deepEqual(
    new Set(rows.map(({ state, endpoint }) => `${state} ${endpoint}`)),
    new Set([`delivered mailto:${JO}`]),
  );
  assert.deepEqual(new Set(scene.smtp.mails.map(({ to }) => to)), new Set([JO]));
  assert.deepEqual(
    scene.smtp.recipients.filter((address) => address !== JO),
    ['full@example.org'],
  );
});

test('beyond twenty e-mails a day, further items are gathered into one e-mail the next morning', async (t) => {
  const scene = await openMailScene(t);
  const search = await scene.newSearch(JO);
  // An item that is due the next morning by this clock is due at once by the real one.
  const daysAgo = new Date(Date.now() - 3 * 86_400_000);
  const past = scene.start({ clock: () => daysAgo });
  for (let mail = 1; mail <= 2; mail++) {
    await scene.record(search, 1);
    await untilIs(() => scene.smtp.mails.length, mail);
  }
  await past.drain();
  assert.deepEqual(await scene.counts(), [2, 2]);
  await scene.database.query('update mail_mailboxes set mails = $1', [MAILBOX_MAILS_MAX]);
  await scene.record(search, 3);
  assert.equal(await scene.claim({ now: daysAgo }), null);
  const waiting = (await scene.rows()).filter(({ state }) => state === 'queued');
  assert.equal(waiting.length, 3);
  assert.ok(waiting.every(({ due_at }) => due_at > daysAgo));
  scene.start();
  await scene.untilAllEnded();
  assert.equal(scene.smtp.mails.length, 3);
  assert.equal(scene.smtp.mails.at(-1)?.parsed.subject, '3 nouveautés – Toulon');
});

test('an address with a plus part or dots counts for its mailbox, even if it is another recipient', async (t) => {
  const scene = await openMailScene(t);
  const neighbour = await scene.newClient('b');
  const claims = async (address: string, of = scene.client) => {
    await scene.record(await scene.newSearch(address, {}, of), 1);
    const mail = await scene.claim();
    return mail?.address === address;
  };
  assert.deepEqual([await claims('jo.doe@gmail.com'), await claims('jo.doe@example.org')], [true, true]);
  await scene.database.query('update mail_mailboxes set mails = $1', [MAILBOX_MAILS_MAX]);
  for (const full of ['JoDoe+a@gmail.com', 'j.o.doe+b+c@googlemail.com', 'Jo.Doe+x@example.org']) {
    assert.equal(await claims(full), false, full);
  }
  for (const other of ['jodoe@example.org', 'jo.doe.x@gmail.com', 'doe+jo@gmail.com']) {
    assert.equal(await claims(other), true, other);
  }
  assert.equal(await claims('jo.doe+a@gmail.com', neighbour), true);
});

test('items redirected to another address do not wait for the morning of the former one', async (t) => {
  const scene = await openMailScene(t);
  const search = await scene.newSearch('former@example.org');
  await scene.record(search, 1);
  assert.ok(await scene.claim());
  await scene.database.query('update mail_mailboxes set mails = $1', [MAILBOX_MAILS_MAX]);
  await scene.record(search, 1);
  await updateSearch(scene.database, scene.client, search.id, {
    merge: ({ members }) => ({ ...members, notificationRecipient: JO }),
  });
  assert.equal(await scene.claim(), null);
  assert.equal((await scene.claim())?.address, JO);
});

test('a client beyond its daily number of e-mails waits for the next morning, and another client does not', async (t) => {
  const scene = await openMailScene(t);
  const neighbour = await scene.newClient('b');
  const now = new Date();
  await scene.record(await scene.newSearch('first@example.org'), 1);
  assert.ok(await scene.claim({ now }));
  await scene.database.query('update mail_clients set mails = $1 where client_id = $2', [
    CLIENT_MAILS_MAX,
    scene.client,
  ]);
  await scene.record(await scene.newSearch('second@example.org'), 1);
  await scene.record(await scene.newSearch('second@example.org', {}, neighbour), 1);
  const claimed = new Map<Uuid, boolean>();
  for (const turn of await readMailTurns(scene.database, 10)) {
    claimed.set(turn.clientId, (await claimMail(scene.database, turn, { leaseMs: 60_000, now })) !== null);
  }
  assert.deepEqual([claimed.get(scene.client), claimed.get(neighbour)], [false, true]);
});

test('clients take turns, however many recipients one has', async (t) => {
  const scene = await openMailScene(t);
  const [many, few] = [await scene.newClient('many'), await scene.newClient('few')];
  for (let n = 0; n < 30; n++) await scene.record(await scene.newSearch(`r${n}@example.org`, {}, many), 3);
  await scene.record(await scene.newSearch(JO, {}, few), 1);
  const turns = await readMailTurns(scene.database, 20);
  assert.ok(turns.slice(0, 2).some(({ clientId }) => clientId === few));
  assert.equal(new Set(turns.map(({ key }) => key)).size, turns.length);
});

test('a paused stage sends nothing, and a drain completes work in progress', async (t) => {
  const scene = await openMailScene(t);
  const gate = createPauseGate();
  gate.close();
  let looks = 0;
  const watched = {
    get isOpen() {
      looks += 1;
      return gate.isOpen;
    },
  };
  await scene.record(await scene.newSearch(JO), 1);
  const mailing = scene.start({ gate: watched });
  await until(
    async () => looks,
    (count) => count > 2,
  );
  assert.equal((await scene.rows())[0]?.attempts, 0);
  gate.open();
  scene.smtp.scriptMessage('accept');
  await until(scene.rows, ([row]) => row?.state !== 'queued');
  await mailing.drain();
  assert.equal((await scene.rows())[0]?.state, 'delivered');
});

test('an outcome that PostgreSQL cannot store is recorded when it is available again', async (t) => {
  const servers: TestPostgres[] = [];
  const scene = await openMailScene(t, async (cleanup) => {
    const server = await startTestPostgres(cleanup);
    servers.push(server);
    await migrate(server.url);
    return server.url;
  });
  scene.smtp.scriptMessage('hang');
  await scene.record(await scene.newSearch(JO), 1);
  const mailing = scene.start({ attemptTimeoutMs: 3_000, retryDelayMs: 600_000 });
  await untilIs(() => scene.smtp.recipients.length, 1);
  for (const server of servers) {
    await server.kill();
    await server.restart();
  }
  await until(
    () => scene.rows().catch(() => []),
    ([row]) => row?.state === 'retry_wait',
  );
  await mailing.drain();
  assert.deepEqual(
    scene.settled.map(({ outcome }) => outcome.error),
    ['timeout'],
  );
});
