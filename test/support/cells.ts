/** Two cells as an operator has them: a PostgreSQL each, one nats-server, and the file that names them. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CommandResult, type Daemon, runVigie, type ServerUrls, type Settings, startDaemon } from './daemon.ts';
import { type Cleanup, startTestNats, startTestPostgres, type TestServer } from './servers.ts';

export type CellName = 'default' | 'west';

export interface TwoCells {
  readonly nats: TestServer;
  readonly servers: Readonly<Record<CellName, ServerUrls & { readonly postgres: TestServer }>>;
  /** What every command and daemon of the cell is told. */
  settingsOf(cell: CellName): Settings;
  start(cell: CellName, settings?: Settings): Promise<Daemon>;
  /** What `vigie cells` knows them by. */
  readonly file: string;
  /** A command for all cells. */
  cells(...args: readonly string[]): Promise<CommandResult>;
  /** A command for one. */
  of(cell: CellName, ...args: readonly string[]): Promise<CommandResult>;
  keyOf(cell: CellName, client: string): Promise<string>;
}

export async function openTwoCells(cleanup: Cleanup): Promise<TwoCells> {
  const [nats, first, second] = await Promise.all([
    startTestNats(cleanup),
    startTestPostgres(cleanup),
    startTestPostgres(cleanup),
  ]);
  const servers = { default: { nats, postgres: first }, west: { nats, postgres: second } };
  const folder = await mkdtemp(join(tmpdir(), 'vigie-test-cells-'));
  cleanup.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'cells');
  await writeFile(file, `# name and database\ndefault ${first.url}\nwest    ${second.url}\n`);
  const settingsOf = (cell: CellName): Settings => ({
    VIGIE_CELL: cell === 'default' ? '' : cell,
  });
  const of = (cell: CellName, ...args: readonly string[]) =>
    runVigie(args, servers[cell], { settings: settingsOf(cell) });
  return {
    nats,
    servers,
    settingsOf,
    start: (cell, settings = {}) => startDaemon(cleanup, servers[cell], { ...settingsOf(cell), ...settings }),
    file,
    cells: (...args) => of('default', 'cells', ...args, '--cells', file),
    of,
    async keyOf(cell, client) {
      const { code, stdout, stderr } = await of(cell, 'keys', 'create', '--client', client);
      if (code !== 0) throw new Error(stderr);
      return stdout.trim();
    },
  };
}
