/**
 * The location of a client among the cells, each with its streams on NATS; and a lock, so that one command at a time
 * moves it.
 */

import { CommandError } from '../../cli/terminal.ts';
import type { Config } from '../../config.ts';
import { announceChange } from '../../engine/broker/announcements.ts';
import { type Broker, connectBroker } from '../../engine/broker/connection.ts';
import { UNNAMED_CELL } from '../../engine/domain/cell.ts';
import type { Uuid } from '../../engine/domain/ids.ts';
import type { OpenCell } from './cell-list.ts';
import { type ClientStanding, findStandings } from './client-move.ts';

/** A cell with its streams on NATS. */
export interface ReachedCell extends OpenCell {
  readonly broker: Broker;
}

export type MovedClient = Pick<ClientStanding, 'id' | 'name'>;

export interface ClientLocation {
  readonly client: MovedClient;
  /** Null while it has left one cell and was not activated in the other. */
  readonly home: ReachedCell | null;
}

export async function withBrokers<T>(
  { natsUrl: url, natsReplicas: replicas }: Config,
  cells: readonly OpenCell[],
  work: (reached: readonly ReachedCell[]) => Promise<T>,
): Promise<T> {
  if (url === null) throw new CommandError('NATS_URL is not set: the NATS that the cells share');
  const reached: ReachedCell[] = [];
  try {
    for (const cell of cells) {
      const named = cell.name === UNNAMED_CELL ? null : cell.name;
      const options = { url, replicas, cell: named, name: 'vigie command', onStatus: () => undefined };
      reached.push({ ...cell, broker: await connectBroker(options) });
    }
    return await work(reached);
  } finally {
    await Promise.all(reached.map(({ broker }) => broker.close()));
  }
}

/** Throws `CommandError` when there is no such client. */
export async function find(cells: readonly ReachedCell[], nameOrId: string): Promise<ClientLocation> {
  let known: ClientStanding | null = null;
  let home: ReachedCell | null = null;
  for (const cell of cells) {
    const [standing, another] = await findStandings(cell.database, nameOrId);
    if (standing === undefined) continue;
    if (another !== undefined || (known !== null && known.id !== standing.id)) {
      throw new CommandError(`several clients are called ${nameOrId}: say which by its id`);
    }
    known = standing;
    if (standing.movedTo !== null) continue;
    if (home !== null) throw livesTwice(standing.name, [home.name, cell.name]);
    home = cell;
  }
  if (known === null) throw new CommandError(`no cell has a client ${nameOrId}`);
  return { client: known, home };
}

/** A cell was restored to a state before the client left. */
function livesTwice(client: string, cells: readonly string[]): CommandError {
  return new CommandError(
    `${client} lives in ${cells.join(' and ')}: delete it where it is from a backup (admin clients delete)`,
  );
}

/**
 * Locks the client in every cell, so that one command at a time moves it, wherever to. Resolves with a function that
 * releases the locks.
 */
export async function lockMove(cells: readonly ReachedCell[], { id, name }: MovedClient): Promise<() => Promise<void>> {
  const unlocks: (() => void)[] = [];
  const unlock = async (): Promise<void> => {
    for (const end of unlocks) end();
  };
  for (const { database } of cells) {
    const session = await database.connect();
    // Closed, not returned to the pool: the lock ends with the session.
    unlocks.push(() => session.release(true));
    const { rows } = await session.query<{ isFree: boolean }>(
      `select pg_try_advisory_lock(hashtextextended('vigie move ' || $1, 0)) as "isFree"`,
      [id],
    );
    if (rows[0]?.isFree === true) continue;
    await unlock();
    throw new CommandError(`${name} is being moved by another command`);
  }
  return unlock;
}

/** The cell that the client has left its former one for. */
export async function findLeft(cells: readonly ReachedCell[], id: Uuid): Promise<string> {
  const heads: string[] = [];
  for (const { name, database } of cells) {
    const { rows } = await database.query<{ held: boolean }>(
      `select coalesce(held_for = $1 and held_until = 'infinity', false) as held from intake_leader`,
      [id],
    );
    if (rows[0]?.held === true) heads.push(name);
  }
  return heads[0] ?? 'no known cell';
}

/** Instances learn of it in any case: of keys and secrets within five seconds, of searches within one. */
export async function notifyCells(cells: readonly ReachedCell[]): Promise<void> {
  for (const { broker } of cells) {
    announceChange(broker, 'keys');
    announceChange(broker, 'secrets');
    announceChange(broker, 'searches');
    await broker.connection.flush();
  }
}
