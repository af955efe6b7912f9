/**
 * Guarantees that no webhook attempt begins after the answer to a request that silences or deletes its search, pauses
 * its endpoint or deletes its client. A claim reads these states without locks, because each lock would write to the
 * locked row. So the writer of such a state commits it and then waits for the claims that began earlier.
 *
 * Proof: a claim takes a shared lock (the fence) one statement before the statement that claims. Its snapshot is
 * therefore made after it has the fence. After the commit, `passed` reads the holders of the fence and waits for them.
 * A claim that takes the fence later makes its snapshot after the commit, and sees the new state.
 */

import { pause } from '../actor/waiting.ts';
import type { Queryable, Statement } from './database.ts';

/** The key of the advisory lock: an arbitrary number that nothing else in the database locks. */
const FENCE = 7_640_891_578n;

/** The first statement of a transaction that claims. The fence is released when the transaction ends. */
export const passFence: Statement = {
  name: 'pass-fence',
  text: `select pg_advisory_xact_lock_shared(${FENCE})`,
  values: [],
};

/** The holders of the fence. `pg_locks` shows a 64-bit key as two halves of 32 bits (PostgreSQL, "pg_locks"). */
const HOLDERS = `select virtualtransaction as "holder" from pg_locks
  where locktype = 'advisory' and objsubid = 1 and classid = ${FENCE >> 32n} and objid = ${FENCE & 0xffffffffn}
    and granted and database = (select oid from pg_database where datname = current_database())`;

const CHECK_EVERY_MS = 2;
/** A courier does not use a claim whose confirmation takes longer than this (delivery/send.ts). */
export const CLAIM_USED_WITHIN_MS = 7_500;

/** Resolves when every claim that may not have seen the commit has ended or expired. No index: there are few locks. */
export async function passed(client: Queryable): Promise<void> {
  const since = performance.now();
  const read = async (): Promise<ReadonlySet<string>> => {
    const { rows } = await client.query<{ holder: string }>(HOLDERS);
    return new Set(rows.map(({ holder }) => holder));
  };
  let left = await read();
  while (left.size > 0 && performance.now() - since < CLAIM_USED_WITHIN_MS) {
    await pause(CHECK_EVERY_MS);
    const held = await read();
    left = new Set([...left].filter((holder) => held.has(holder)));
  }
}
