/**
 * `Idempotency-Key` (decisions, section 11). A client that does not know whether a request arrived repeats it with the
 * same key. It then gets the current state of the result of the first request. Refusals are not stored: a refused
 * request may be corrected.
 */

import { hash } from 'node:crypto';
import type { Context } from 'koa';
import type { Uuid } from '../engine/domain/ids.ts';
import type { Queryable } from '../engine/store/database.ts';
import {
  type FormerRequest,
  findFormerRequest,
  type KeyedRequest,
  type MadeOnce,
} from '../engine/store/idempotency-keys.ts';
import { principalOf } from './auth.ts';
import { invalid, Problem } from './problem.ts';
import { FAULTS, ofParameter, REFUSALS } from './sentences.ts';

const KEY_LENGTH_MAX = 255;

export interface Making<Input, T> {
  /** Validates the request. */
  readonly prepare: () => Promise<Input>;
  /** Executes a request without a key. */
  readonly make: (input: Input) => Promise<T>;
  /** Executes a request with a key, and records the key with the result. */
  readonly makeOnce: (request: KeyedRequest, input: Input) => Promise<MadeOnce<T>>;
  /** The current state of the result of an earlier request; null when it was deleted. */
  readonly readAgain: (id: Uuid) => Promise<T | null>;
}

/** The result of this request, or of an earlier one with its key. Throws 400, 409, 410 and 422 `Problem`s. */
export async function once<Input, T extends { readonly id: Uuid }>(
  ctx: Context,
  database: Queryable,
  { prepare, make, makeOnce, readAgain }: Making<Input, T>,
): Promise<{ readonly made: T; readonly isNew: boolean }> {
  const request = keyedRequestOf(ctx);
  if (request === null) return { made: await make(await prepare()), isNew: true };
  const known = await findFormerRequest(database, request);
  if (known !== null) return { made: await formerOf(known, readAgain), isNew: false };
  const input = await prepare();
  const result = await makeUnlessUnderWay(request, () => makeOnce(request, input));
  if ('made' in result) return { made: result.made, isNew: true };
  return { made: await formerOf(result.former, readAgain), isNew: false };
}

const underWay = new Set<string>();

/** Reports a repetition early: it would otherwise wait behind its client's writes to reach the lock of its key. */
async function makeUnlessUnderWay<T>(
  { clientId, path, key }: KeyedRequest,
  make: () => Promise<MadeOnce<T>>,
): Promise<MadeOnce<T>> {
  const name = `${clientId} ${path} ${key}`;
  if (underWay.has(name)) return { former: 'under way' };
  underWay.add(name);
  return make().finally(() => underWay.delete(name));
}

/** Null without a key. Throws a 400 `Problem`. */
function keyedRequestOf(ctx: Context): KeyedRequest | null {
  const key = ctx.req.headers['idempotency-key'];
  if (key === undefined) return null;
  if (typeof key !== 'string' || key === '' || key.length > KEY_LENGTH_MAX) {
    throw new Problem(400, REFUSALS.idempotencyKeyLength(KEY_LENGTH_MAX));
  }
  const bodyHash = hash('sha256', JSON.stringify(ctx.request.body), 'buffer');
  return { clientId: principalOf(ctx).clientId, path: ctx.path, key, bodyHash };
}

async function formerOf<T>(
  former: Exclude<FormerRequest, null>,
  readAgain: (id: Uuid) => Promise<T | null>,
): Promise<T> {
  if (former === 'under way') {
    throw new Problem(409, REFUSALS.idempotencyUnderWay, { headers: { 'Retry-After': '1' } });
  }
  if (former === 'another body') {
    const message = ofParameter('Idempotency-Key', FAULTS.anotherBody);
    throw invalid([], message, 'idempotency_key_reused', REFUSALS.thisIdempotencyKey(FAULTS.anotherBody));
  }
  const made = await readAgain(former.resourceId);
  if (made === null) throw new Problem(410, REFUSALS.idempotencyGone);
  return made;
}
