/** The members of a search that e-mail adds, over REST (decisions, section 12). */

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { mailKeyOf } from '../../src/engine/domain/mail.ts';
import { startTestApi } from '../support/api.ts';

const api = await startTestApi({ after });
const NOTIFYING = { title: 'x', notificationEnabled: true, notificationRecipient: 'jo@example.org' };

async function created(members: object = NOTIFYING) {
  const { status, body } = await api.call('POST', '/searches', members);
  assert.equal(status, 201);
  return body;
}

const change = async (iri: string, members: object) => (await api.call('PUT', iri, members)).body;

describe('emailStatus', () => {
  it('is active for an address that is written, and off without one or without notifications', async () => {
    const { '@id': iri, emailStatus, notificationFrequency } = await created();
    assert.deepEqual([emailStatus, notificationFrequency], ['active', 'instant']);
    assert.equal((await change(iri, { notificationEnabled: false })).emailStatus, 'off');
    assert.equal((await change(iri, { notificationEnabled: true })).emailStatus, 'active');
    assert.equal((await change(iri, { notificationRecipient: null })).emailStatus, 'off');
    assert.equal((await created({ title: 'x', notificationEnabled: true })).emailStatus, 'off');
  });

  it('is refused until the address changes, and not only because the same one is sent back', async () => {
    const { '@id': iri } = await created({ ...NOTIFYING, notificationRecipient: 'gone@example.org' });
    await api.database.query('update searches set mail_refused_at = now() where id = $1', [iri.slice(10)]);
    const refused = (await api.call('GET', iri)).body;
    assert.equal(refused.emailStatus, 'refused');
    assert.equal((await change(iri, refused)).emailStatus, 'refused');
    assert.equal((await change(iri, { notificationRecipient: 'new@example.org' })).emailStatus, 'active');
  });

  it('is unsubscribed for a client and an address, in any case, whatever is written afterwards', async () => {
    const address = 'leaving@example.org';
    const { '@id': iri } = await created({ ...NOTIFYING, notificationRecipient: address });
    await api.database.query('insert into mail_recipients (key, client_id, unsubscribed_at) values ($1, $2, now())', [
      mailKeyOf(api.clientId, address),
      api.clientId,
    ]);
    assert.equal((await api.call('GET', iri)).body.emailStatus, 'unsubscribed');
    assert.equal((await change(iri, { notificationRecipient: null })).emailStatus, 'off');
    assert.equal((await change(iri, { notificationRecipient: 'Leaving@Example.org' })).emailStatus, 'unsubscribed');
    assert.equal((await created({ ...NOTIFYING, notificationRecipient: address })).emailStatus, 'unsubscribed');
    const listed = (await api.call('GET', '/searches?itemsPerPage=100')).body['hydra:member'];
    assert.equal(listed.filter((one: { emailStatus: string }) => one.emailStatus === 'unsubscribed').length, 2);
    const key = await api.newClient('neighbour');
    const theirs = await api.call('POST', '/searches', { ...NOTIFYING, notificationRecipient: address }, { key });
    assert.equal(theirs.body.emailStatus, 'active');
  });

  it('is unavailable where there is no mail server, and ignored when it is sent', async () => {
    const mute = await startTestApi({ after }, { settings: { isMailAvailable: false } });
    const { body } = await mute.call('POST', '/searches', { ...NOTIFYING, emailStatus: 'active' });
    assert.equal(body.emailStatus, 'unavailable');
  });
});

describe('notificationFrequency', () => {
  it('is instant, daily or weekly, and null is instant', async () => {
    const { '@id': iri } = await created({ ...NOTIFYING, notificationFrequency: 'weekly' });
    assert.equal((await api.call('GET', iri)).body.notificationFrequency, 'weekly');
    assert.equal((await change(iri, { notificationFrequency: 'daily' })).notificationFrequency, 'daily');
    assert.equal((await change(iri, { notificationFrequency: null })).notificationFrequency, 'instant');
    for (const notificationFrequency of ['hourly', '', 1, ['daily']]) {
      assert.equal((await api.call('PUT', iri, { notificationFrequency })).status, 422);
    }
  });
});

describe('notificationRecipient', () => {
  it('is one address, without what could end a line or begin another address', async () => {
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
