/** Operators' controls of stages and the search index. A pause is stored in a row, so it survives a restart. */

import type { Queryable } from './database.ts';

export interface Control {
  /** The name of a stage, or `index`. */
  readonly name: string;
  /** Null if the stage runs. */
  readonly pausedAt: Date | null;
  readonly reason: string | null;
  /** Number of rebuilds requested so far. */
  readonly generation: number;
}

const COLUMNS = 'name, paused_at as "pausedAt", reason, generation';

/** Reads the whole table, which has a few rows. */
export async function readControls(database: Queryable): Promise<ReadonlyMap<string, Control>> {
  const { rows } = await database.query<Control>(`select ${COLUMNS} from controls`);
  return new Map(rows.map((control) => [control.name, control]));
}

/** Pauses a stage. A paused stage keeps its time and, if `reason` is null, its reason. Served by the primary key. */
export async function pauseControl(database: Queryable, name: string, reason: string | null): Promise<void> {
  await database.query(
    `insert into controls (name, paused_at, reason) values ($1, clock_timestamp(), $2)
     on conflict (name) do update set paused_at = coalesce(controls.paused_at, excluded.paused_at),
       reason = coalesce($2, controls.reason)`,
    [name, reason],
  );
}

/** Served by the primary key. */
export async function resumeControl(database: Queryable, name: string): Promise<void> {
  await database.query('update controls set paused_at = null, reason = null where name = $1', [name]);
}

/** Requests a rebuild. Resolves with its generation. Served by the primary key. */
export async function nextGeneration(database: Queryable, name: string): Promise<number> {
  const { rows } = await database.query<{ generation: number }>(
    `insert into controls (name, generation) values ($1, 1)
     on conflict (name) do update set generation = controls.generation + 1 returning generation`,
    [name],
  );
  return (rows[0] as { generation: number }).generation;
}
