/**
 * No attempt begins after a search was silenced, an endpoint paused or a client closed, and that was answered. A claim
 * reads what forbids it without locking it: searches, a million of them, would each be written for that. So whoever
 * forbids something waits, once it is committed, for the claims that began before.
 *
 * Proof. A claim takes the fence, shared, in a statement before its own: its snapshot is made under the fence. `passed`
 * reads who has the fence after the commit. A claim that has it then is waited for. One that takes it later makes its
 * snapshot after the commit, and sees it.
 */

import { pause } from '../actor/waiting.ts';
import type { Queryable, Statement } from './database.ts';

/** Any number that nothing else in the database locks. */
const FENCE = 7_640_891_578n;

/** For the beginning of a claiming transaction: it ends with it. */
export const passFence: Statement = {
  name: 'pass-fence',
  text: `select pg_advisory_xact_lock_shared(${FENCE})`,
  values: [],
};

/** One key of 64 bits is shown as two of 32 (PostgreSQL, `pg_locks`). */
const HOLDERS = `select virtualtransaction as "holder" from pg_locks
  where locktype = 'advisory' and objsubid = 1 and classid = ${FENCE >> 32n} and objid = ${FENCE & 0xffffffffn}
    and granted and database = (select oid from pg_database where datname = current_database())`;

const LOOK_EVERY_MS = 2;
/** A claim that its courier has not confirmed for so long is not used any more (delivery/send.ts). */
export const CLAIM_USED_WITHIN_MS = 7_500;

/** Resolves when every claim that may not have seen what is committed has ended. Served by no index: locks are few. */
export async function passed(client: Queryable): Promise<void> {
  const since = performance.now();
  const read = async (): Promise<ReadonlySet<string>> => {
    const { rows } = await client.query<{ holder: string }>(HOLDERS);
    return new Set(rows.map(({ holder }) => holder));
  };
  let left = await read();
  while (left.size > 0 && performance.now() - since < CLAIM_USED_WITHIN_MS) {
    await pause(LOOK_EVERY_MS);
    const held = await read();
    left = new Set([...left].filter((holder) => held.has(holder)));
  }
}
