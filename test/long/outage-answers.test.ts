/** In an outage clients get 503 from REST, and operators UNAVAILABLE from gRPC, both without internal details. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ServiceError, status } from '@grpc/grpc-js';
import pg from 'pg';
import { BrokerUnavailableError, isBrokerOutage } from '../../src/engine/broker/outage.ts';
import { type Database, openDatabase } from '../../src/engine/store/database.ts';
import { isDatabaseOutage, isPassingRefusal } from '../../src/engine/store/outage.ts';
import { startAdmin } from '../support/admin-server.ts';
import { startTestApi } from '../support/api.ts';
import { type Cleanup, startTestPostgres } from '../support/servers.ts';

/** A key in the valid format, which no database can confirm here. */
const KEY = `vigie_01234567_${'k'.repeat(43)}`;

/** The answers of both interfaces with `database` in its current state. */
async function answers(t: Cleanup, database: Database): Promise<{ rest: number; grpc: number; words: string }> {
  const { baseUrl } = await startTestApi(t, { database });
  const { stub, metadata } = (await startAdmin(t, { database })).connect();
  const [answer, error] = await Promise.all([
    fetch(`${baseUrl}/searches`, { headers: { 'X-API-KEY': KEY } }),
    new Promise<ServiceError | null>((resolve) => stub.listClients({ pageSize: 1, pageToken: '' }, metadata, resolve)),
  ]);
  return { rest: answer.status, grpc: error?.code ?? status.OK, words: `${await answer.text()} ${error?.details}` };
}

const open = (url: string, connectionsMax = 4) =>
  openDatabase({ url, connectionsMax, onConnectionLost: () => undefined });

test('a PostgreSQL without free connections, an exhausted pool and an unknown host cause 503', async (t) => {
  const { url } = await startTestPostgres(t, { max_connections: '8', superuser_reserved_connections: '0' });
  // The server stops before these clients do, so their errors are expected.
  const full = Array.from({ length: 20 }, () => new pg.Client(url).on('error', () => undefined));
  await Promise.allSettled(full.map((client) => client.connect()));
  const refused = open(url);
  const unknown = open('postgres://vigie@nowhere.invalid/vigie');
  const inner = await startTestPostgres(t);
  const drained = open(inner.url, 1);
  const stored = await drained.connect();
  for (const database of [refused, unknown, drained]) {
    const { rest, grpc, words } = await answers(t, database);
    assert.deepEqual([rest, grpc], [503, status.UNAVAILABLE], words);
    assert.doesNotMatch(words, /53300|nowhere|timeout exceeded|too many/);
  }
  stored.release();
  t.after(async () => void (await Promise.all([refused, unknown, drained].map((pool) => pool.end()))));
});

test('a start waits for a PostgreSQL in a temporary condition, but not if a setting may be wrong', () => {
  const refusal = (code: string) => failed(code, { severity: 'FATAL' });
  for (const code of ['08004', '53100', '53300', '57P03', '58030', 'XX000']) {
    assert.ok(isPassingRefusal(refusal(code), false), code);
  }
  for (const error of [refusal('28P01'), refusal('3D000'), refusal('42501'), failed('ECONNREFUSED')]) {
    assert.ok(!isPassingRefusal(error, false), error.code);
    assert.ok(isPassingRefusal(error, true), `${error.code}, after a successful login`);
  }
  assert.ok(!isPassingRefusal(failed('42P01', { severity: 'ERROR' }), true), 'a bug is no reason to wait');
});

const failed = (code: string, extra: object = {}) => Object.assign(new Error('failed'), { code, ...extra });

test('transient errors are distinguished from bugs by named codes', () => {
  const outages = ['08006', '28P01', '53100', '53300', '57P01', '57P03', '57014', '40001', '40P01', '55P03', '58030'];
  const sockets = ['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN', 'EPIPE', 'ETIMEDOUT', 'EMFILE'];
  for (const code of [...outages, ...sockets]) assert.ok(isDatabaseOutage(failed(code)), code);
  assert.ok(isDatabaseOutage(new Error('timeout exceeded when trying to connect')));
  assert.ok(isDatabaseOutage(new Error('timeout expired')), 'a single client that waited for its connection');
  assert.ok(isDatabaseOutage(new Error('Connection terminated unexpectedly')));
  assert.ok(isDatabaseOutage(failed('ENOENT', { syscall: 'connect' })));
  const bugs = ['22P02', '23505', '25001', '26000', '42P01', '0A000', 'ENOENT', 'ERR_INVALID_ARG_TYPE', 'POISON'];
  for (const code of bugs) assert.ok(!isDatabaseOutage(failed(code)), code);
  for (const error of [new TypeError('x is not a function'), new RangeError('Invalid string length'), 'text', null]) {
    assert.ok(!isDatabaseOutage(error) && !isBrokerOutage(error));
  }
  for (const code of ['CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID', 'DEPTH_ZERO_SELF_SIGNED_CERT', '42501']) {
    assert.ok(isDatabaseOutage(failed(code)), code);
  }
  assert.ok(isDatabaseOutage(failed('XX000', { severity: 'FATAL' })), 'a FATAL error prevents or ends the session');
  assert.ok(!isDatabaseOutage(failed('XX000', { severity: 'ERROR' })), 'such an error is retried, but is no outage');
  assert.ok(isBrokerOutage(new BrokerUnavailableError('no stream accepts the subject')));
  assert.ok(!isBrokerOutage(failed('TIMEOUT')), 'a code of NATS counts only in an error of NATS');
});
