/** The processes of the service, by their last heartbeat. */

import { randomUuid, type Uuid } from '../domain/ids.ts';
import type { Queryable } from './database.ts';
import { NEWEST_MIGRATION } from './schema.ts';

export interface StageFigures {
  readonly isPaused: boolean;
  /** Messages or attempts under way. */
  readonly inFlight: number;
  /** True when only this instance runs the stage; the others of its role stand by. */
  readonly leads: boolean;
}

export interface IndexFigures {
  readonly searches: number;
  /** The generation of its last rebuild; see table `controls`. */
  readonly generation: number;
  /** ISO 8601. */
  readonly builtAt: string;
  readonly figures: Readonly<Record<string, number>>;
}

/** A component of an instance that fails repeatedly. */
export interface FailingPart {
  readonly actor: string;
  readonly reason: string;
  /** Since its last success. */
  readonly failingForMs: number;
}

export interface Instance {
  readonly id: Uuid;
  readonly host: string;
  readonly processId: number;
  readonly roles: readonly string[];
  readonly version: string;
  readonly startedAt: Date;
  readonly stages: Readonly<Record<string, StageFigures>>;
  /** Components that have been failing for a while, longest first. */
  readonly failing: readonly FailingPart[];
  /** Null without the role `intake`. */
  readonly searchIndex: IndexFigures | null;
}

export type SeenInstance = Instance & { readonly seenAt: Date };

/** Five missed heartbeats: the process is gone, or cannot reach PostgreSQL. */
const GONE_AFTER_SECONDS = 10;
const FORGOTTEN_AFTER_SECONDS = 3_600;

/** Returns the migration from which on the database is compatible (store/schema.ts). Served by the primary key. */
export async function showInstance(database: Queryable, instance: Instance): Promise<number> {
  const { rows } = await database.query<{ compatibleFrom: number }>({
    name: 'show-instance',
    text: `
      insert into instances (id, host, process_id, roles, version, started_at, stages, search_index, failing,
        newest_migration)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
      on conflict (id) do update
      set seen_at = clock_timestamp(), stages = excluded.stages, search_index = excluded.search_index,
        failing = excluded.failing
      returning (select compatible_from from schema_compatibility) as "compatibleFrom"`,
    values: [
      instance.id,
      instance.host,
      instance.processId,
      instance.roles,
      instance.version,
      instance.startedAt,
      JSON.stringify(instance.stages),
      instance.searchIndex === null ? null : JSON.stringify(instance.searchIndex),
      JSON.stringify(instance.failing),
      NEWEST_MIGRATION,
    ],
  });
  return rows[0]?.compatibleFrom ?? 0;
}

/** Served by the primary key. */
export async function removeInstance(database: Queryable, id: Uuid): Promise<void> {
  await database.query('delete from instances where id = $1', [id]);
}

/** Removes instances without a heartbeat for an hour; returns how many. A few rows. */
export async function forgetInstances(database: Queryable): Promise<number> {
  const { rowCount } = await database.query(
    `delete from instances where seen_at < clock_timestamp() - ${FORGOTTEN_AFTER_SECONDS} * interval '1 second'`,
  );
  return rowCount ?? 0;
}

/** The living, oldest first. A few rows. */
export async function listInstances(database: Queryable): Promise<readonly SeenInstance[]> {
  const { rows } = await database.query<SeenInstance>(
    `select id, host, process_id as "processId", roles, version, started_at as "startedAt", seen_at as "seenAt",
       stages, search_index as "searchIndex", failing
     from instances where seen_at > clock_timestamp() - ${GONE_AFTER_SECONDS} * interval '1 second'
     order by started_at, id`,
  );
  return rows;
}

export interface Control {
  /** A stage, or `index`. */
  readonly name: string;
  /** Null: it runs. */
  readonly pausedAt: Date | null;
  readonly reason: string | null;
  /** Number of rebuilds requested so far. */
  readonly generation: number;
}

const COLUMNS = 'name, paused_at as "pausedAt", reason, generation';

/** A handful of rows. */
export async function readControls(database: Queryable): Promise<ReadonlyMap<string, Control>> {
  const { rows } = await database.query<Control>(`select ${COLUMNS} from controls`);
  return new Map(rows.map((control) => [control.name, control]));
}

/** Keeps the time of an existing pause. Served by the primary key. */
export async function pauseControl(database: Queryable, name: string, reason: string | null): Promise<void> {
  await database.query(
    `insert into controls (name, paused_at, reason) values ($1, clock_timestamp(), $2)
     on conflict (name) do update set paused_at = coalesce(controls.paused_at, excluded.paused_at), reason = $2`,
    [name, reason],
  );
}

/** Served by the primary key. */
export async function resumeControl(database: Queryable, name: string): Promise<void> {
  await database.query('update controls set paused_at = null, reason = null where name = $1', [name]);
}

/** The generation that instances have to reach. Served by the primary key. */
export async function nextGeneration(database: Queryable, name: string): Promise<number> {
  const { rows } = await database.query<{ generation: number }>(
    `insert into controls (name, generation) values ($1, 1)
     on conflict (name) do update set generation = controls.generation + 1 returning generation`,
    [name],
  );
  return (rows[0] as { generation: number }).generation;
}

/** A database that was restored to an older state may give out the number of a living courier again. */
const PROCESS = randomUuid();

/** The active couriers, each with a number that its claims carry. A few rows, served by the primary key. */
interface CourierBeat {
  readonly number: number;
  readonly beat: string;
}

export async function registerCourier(client: Queryable): Promise<number> {
  const { rows } = await client.query<{ number: number }>(
    'insert into couriers (process) values ($1) returning number',
    [PROCESS],
  );
  return (rows[0] as { number: number }).number;
}

/**
 * Stores the courier's heartbeat, and returns all couriers; without its number when it was declared dead, or another
 * process has the number.
 */
export async function beat(client: Queryable, number: number): Promise<readonly CourierBeat[]> {
  const { rowCount } = await client.query({
    name: 'courier-beat',
    text: 'update couriers set beat = beat + 1 where number = $1 and process = $2',
    values: [number, PROCESS],
  });
  const { rows } = await client.query<CourierBeat>({ name: 'couriers', text: 'select number, beat from couriers' });
  return rowCount === 1 ? rows : rows.filter((courier) => courier.number !== number);
}

/** Removes only couriers without claims: their rows identify the claims of the dead. */
export async function removeCouriers(client: Queryable, numbers: readonly number[]): Promise<void> {
  await client.query('delete from couriers where number = any($1::integer[])', [numbers]);
}
