/** API keys: how they are made, stored, accepted and revoked. */

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { apiKeyVerifier, createApiKey, listApiKeys, revokeApiKey } from '../../src/engine/store/clients.ts';
import { STALENESS_MAX_MS } from '../../src/engine/store/gathered-reads.ts';
import { startTestApi } from '../support/api.ts';

const api = await startTestApi({ after });

describe('API keys', () => {
  it('are 256 random bits after a public prefix, and only their hash is stored', async () => {
    const { key, apiKey } = await createApiKey(api.database, api.clientId, 'shown once');
    assert.match(key, /^vigie_[0-9a-f]{8}_[\w-]{43}$/);
    assert.equal(apiKey.prefix, key.split('_')[1]);
    const { rows } = await api.database.query('select * from api_keys where id = $1', [apiKey.id]);
    assert.equal(rows[0].hash.length, 32);
    assert.ok(!JSON.stringify(rows[0]).includes(key.slice(15)));
  });

  it('work until they are revoked, and at most the maximum staleness longer', async () => {
    let nowMs = 0;
    const { verify } = apiKeyVerifier(api.database, () => nowMs);
    const { key, apiKey } = await createApiKey(api.database, api.clientId, 'to be revoked');
    assert.equal((await verify(key))?.clientId, api.clientId);
    assert.equal(await revokeApiKey(api.database, apiKey.id), true);
    assert.equal(await revokeApiKey(api.database, apiKey.id), false);
    nowMs = STALENESS_MAX_MS;
    assert.equal(await verify(key), null);
    const [newest] = await listApiKeys(api.database, api.clientId);
    assert.ok(newest?.revokedAt instanceof Date);
  });

  it('are refused once their revocation is announced, even if they are being verified at that moment', async () => {
    const { verify, forget } = apiKeyVerifier(api.database, () => 0);
    const { key, apiKey } = await createApiKey(api.database, api.clientId, 'to be revoked');
    assert.equal((await verify(key))?.clientId, api.clientId);
    forget();
    // Reads the key before the revocation. If answers were cached, this one would be cached after the revocation.
    const asked = verify(key);
    await revokeApiKey(api.database, apiKey.id);
    forget();
    await asked;
    assert.equal(await verify(key), null);
  });

  it('are refused with a challenge when they are malformed, unknown or missing', async () => {
    const unknown = `vigie_00000000_${'A'.repeat(43)}`;
    for (const key of [null, 'x', unknown, `${api.key}x`, `${api.key} `.toUpperCase()]) {
      const { status, headers } = await api.call('GET', '/searches', undefined, { key });
      assert.equal(status, 401);
      assert.match(headers.get('WWW-Authenticate') ?? '', /^ApiKey /);
    }
  });

  it('are required everywhere except in the documentation', async () => {
    for (const path of ['/', '/docs', '/docs.jsonld', '/openapi.json', '/contexts/Search']) {
      assert.equal((await api.call('GET', path, undefined, { key: null })).status, 200, path);
    }
    for (const path of ['/cities', '/nowhere', '/docsx', '/webhook-tester', '/healthz']) {
      assert.equal((await api.call('GET', path, undefined, { key: null })).status, 401, path);
    }
  });

  it('have a write limit that counts large bodies as several requests', async () => {
    const key = await api.newClient('large', { writeLimitPerSecond: 1, writeLimitBurst: 20 });
    const large = { title: 'x', context: 'x'.repeat(1_000_000) };
    assert.equal((await api.call('POST', '/searches', large, { key })).status, 422);
    const { headers } = await api.call('POST', '/searches', { title: 'x' }, { key });
    assert.ok(Number(headers.get('RateLimit-Remaining')) < 10, String(headers.get('RateLimit-Remaining')));
  });
});
