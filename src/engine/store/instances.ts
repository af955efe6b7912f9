/** The processes of the service and the state in their last heartbeats. */

import type { FailingActor } from '../actor/supervisor.ts';
import type { Uuid } from '../domain/ids.ts';
import type { Queryable } from './database.ts';
import { NEWEST_MIGRATION } from './schema.ts';

export interface StageFigures {
  readonly isPaused: boolean;
  /** Number of messages, attempts or e-mails in progress. */
  readonly inFlight: number;
  /** True if this instance alone runs the stage and the others with the role are standbys. */
  readonly leads: boolean;
}

export interface IndexFigures {
  readonly searches: number;
  /** Number of the last requested rebuild that is complete (see table `controls`). */
  readonly generation: number;
  /** ISO 8601. */
  readonly builtAt: string;
  readonly figures: Readonly<Record<string, number>>;
}

export interface Instance {
  readonly id: Uuid;
  readonly host: string;
  readonly processId: number;
  readonly roles: readonly string[];
  readonly version: string;
  readonly startedAt: Date;
  readonly stages: Readonly<Record<string, StageFigures>>;
  /** Actors that have been failing for a while, the longest first, and then the checks that fail now. */
  readonly failing: readonly FailingActor[];
  /** Null without the role `intake`. */
  readonly searchIndex: IndexFigures | null;
}

export type SeenInstance = Instance & { readonly seenAt: Date };

/** After five missed heartbeats, a process counts as ended. */
const GONE_AFTER_SECONDS = 10;
const FORGOTTEN_AFTER_SECONDS = 3_600;

/** Stores a heartbeat. Resolves with the number of the migration that versions must know. Served by the primary key. */
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

/** SQL: whether the process of a row of `instances` is alive. */
export const IS_LIVING = `seen_at > clock_timestamp() - ${GONE_AFTER_SECONDS} * interval '1 second'`;

/** Served by the primary key. */
export async function removeInstance(database: Queryable, id: Uuid): Promise<void> {
  await database.query('delete from instances where id = $1', [id]);
}

/** Removes instances without a heartbeat for an hour, and resolves with their number. The table has a few rows. */
export async function forgetInstances(database: Queryable): Promise<number> {
  const { rowCount } = await database.query(
    `delete from instances where seen_at < clock_timestamp() - ${FORGOTTEN_AFTER_SECONDS} * interval '1 second'`,
  );
  return rowCount ?? 0;
}

/** The living instances, in the order of their starts. The table has a few rows. */
export async function listInstances(database: Queryable): Promise<readonly SeenInstance[]> {
  const { rows } = await database.query<SeenInstance>(
    `select id, host, process_id as "processId", roles, version, started_at as "startedAt", seen_at as "seenAt",
       stages, search_index as "searchIndex", failing
     from instances where ${IS_LIVING}
     order by started_at, id`,
  );
  return rows;
}
