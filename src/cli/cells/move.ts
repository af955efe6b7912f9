/**
 * `vigie cells move`: a client goes from its cell to another one (store/client-move.ts has the steps). Broken off at any
 * point, the same command goes on or begins anew, and `--back` undoes what is not decided yet.
 */

import type { Config } from '../../config.ts';
import { wake } from '../../engine/store/client-move.ts';
import { removeCopy } from '../../engine/store/client-removal.ts';
import { UsageError } from '../command.ts';
import { CommandError, print } from '../terminal.ts';
import { cellNamed, readCells, withCells } from './cells.ts';
import {
  find,
  findLeft,
  lockMove,
  type MovedClient,
  type ReachedCell,
  tellCells,
  withBrokers,
} from './client-location.ts';
import { writeMap } from './map.ts';
import { letGo, travel } from './travel.ts';

export interface MoveOptions {
  /** A name or an id. */
  readonly client: string;
  readonly to: string;
  readonly isBack: boolean;
  readonly cellsFile: string;
  /** The file to write the map to; empty writes none. */
  readonly map: string;
}

/** Throws `CommandError` and `UsageError`. */
export async function moveClient(config: Config, options: MoveOptions, stopping: AbortSignal): Promise<void> {
  const { client, to, isBack, map } = options;
  if (isBack === (to !== '')) throw new UsageError('cells move needs --to CELL, or --back');
  const cells = await readCells(options.cellsFile);
  if (!isBack) cellNamed(cells, to);
  await withCells(cells, (opened) =>
    withBrokers(config, opened, async (reached) => {
      const found = await find(reached, client);
      const unlock = await lockMove(reached, found.client);
      try {
        // Once more: another command may have ended just now.
        const { home, client: moved } = await find(reached, found.client.id);
        if (isBack) await takeBack(reached, home, moved);
        else await bring(reached, home, reached.find(({ name }) => name === to) as ReachedCell, moved, stopping);
        if (map !== '') await writeMap(opened, map);
        if (!isBack) await forgetElsewhere(reached, to, moved);
      } finally {
        await unlock();
      }
    }),
  );
}

async function bring(
  cells: readonly ReachedCell[],
  home: ReachedCell | null,
  target: ReachedCell,
  client: MovedClient,
  stopping: AbortSignal,
): Promise<void> {
  if (home === null) {
    // Decided by a command that was broken off: it can go to one cell alone.
    const { rows } = await target.database.query('select from clients where id = $1 and moved_to is not null', [
      client.id,
    ]);
    const left = await findLeft(cells, client.id);
    if (rows.length === 0 || left !== target.name)
      throw new CommandError(`${client.name} is moving to ${left}: repeat that`);
  } else if (home !== target) {
    await travel(home, target, client, stopping);
  }
  const isWoken = await wake(target.database, client.id);
  await tellCells(cells);
  print(isWoken ? `${client.name} is in ${target.name}` : `${client.name} was in ${target.name} already`);
}

async function takeBack(cells: readonly ReachedCell[], home: ReachedCell | null, client: MovedClient): Promise<void> {
  if (home === null) {
    const to = await findLeft(cells, client.id);
    throw new CommandError(`${client.name} has left already: vigie cells move ${client.name} --to ${to} ends it`);
  }
  await letGo(cells, home, client);
  await forgetElsewhere(cells, home.name, client);
  print(`${client.name} is in ${home.name}`);
}

async function forgetElsewhere(cells: readonly ReachedCell[], home: string, { id }: MovedClient): Promise<void> {
  for (const { name, database } of cells) if (name !== home) await removeCopy(database, id);
}
