/** The resources that a run has used so far: CPU by process, and stored bytes. */

import type { Broker } from '../../src/engine/broker/connection.ts';
import { ADVERTS_STREAM } from '../../src/engine/broker/topology.ts';
import type { Database } from '../../src/engine/store/database.ts';
import { usageOf } from './processes.ts';

export interface Consumption {
  readonly cpuSeconds: Readonly<Record<string, number>>;
  /** `wal`: bytes written, even if PostgreSQL has removed them. */
  readonly bytes: Readonly<Record<'tables' | 'wal' | 'adverts', number>>;
}

export interface Consumer {
  readonly database: Database;
  readonly broker: Broker;
  /** Process ids by name; `bench` is this process, the parent of all others. */
  readonly processes: Readonly<Record<string, number>>;
}

export async function consumptionOf({ database, broker, processes }: Consumer): Promise<Consumption> {
  const used = Object.entries(processes).map(([name, pid]) => [name, usageOf(pid).cpuSeconds] as const);
  const { bench = 0, ...children } = Object.fromEntries(used);
  const cpuSeconds = { ...children, bench: bench - Object.values(children).reduce((sum, child) => sum + child, 0) };
  const { rows } = await database.query<{ tables: number; wal: number }>(
    `select pg_database_size(current_database())::float8 as tables,
       pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as wal`,
  );
  const { state } = await broker.manager.streams.info(ADVERTS_STREAM);
  return { cpuSeconds, bytes: { ...(rows[0] as { tables: number; wal: number }), adverts: state.bytes } };
}

export function cpuSecondsBetween(before: Consumption, after: Consumption): Readonly<Record<string, number>> {
  return difference(before.cpuSeconds, after.cpuSeconds, (seconds) => Number(seconds.toFixed(1)));
}

/** Consumption for each of `count` changes or deliveries. */
export function consumedPerOne(before: Consumption, after: Consumption, count: number) {
  return {
    cpuMicros: difference(before.cpuSeconds, after.cpuSeconds, (seconds) => Math.round((seconds * 1e6) / count)),
    kib: difference(before.bytes, after.bytes, (bytes) => Number((bytes / count / 1_024).toFixed(2))),
  };
}

function difference(
  before: Readonly<Record<string, number>>,
  after: Readonly<Record<string, number>>,
  shown: (difference: number) => number,
): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(after).map(([name, now]) => [name, shown(now - (before[name] ?? 0))]));
}
