/**
 * Oppositions beside the data: a database that is restored from before an erasure would bring the erased back. A file of
 * the data directory for each database (`erasures.<its id>.jsonl`) has its salt, and a line for each erasure and lifting:
 * an erasure before its commit, everything else within a minute. What the database lacks is applied at the start, before
 * anything is sent, and what a restored standby lacks within a minute. Lines that later ones replace are dropped.
 */

import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { startTask } from '../../engine/actor/task.ts';
import { type Database, type Queryable, transaction } from '../../engine/store/database.ts';
import type { Parts } from '../../feature.ts';
import { applyOpposition, type KeepOpposition, OPPOSITION, type Opposition } from './erasure.ts';
import { readAddresses } from './holdings.ts';

interface Journal {
  readonly path: string;
  readonly salt: string;
}

/** A file of another salt belongs to another database. */
class SaltError extends Error {
  readonly code = 'ERASURES_OF_ANOTHER_SALT';
}

async function journalOf(database: Queryable, directory: string): Promise<Journal> {
  const { rows } = await database.query<{ id: string; salt: string }>(
    `select database_id as id, encode(salt, 'hex') as salt from installation, mail_salts`,
  );
  const { id, salt } = rows[0] as { id: string; salt: string };
  return { path: join(directory, `erasures.${id}.jsonl`), salt };
}

/** An arbitrary number that nothing else in the database locks: shared by those who append, alone for who replaces the file. */
const REPLACEMENT_LOCK = 4_215_007_336n;

/** On disk when it resolves. The file is created with its first line. `client`: in a transaction. */
async function append(client: Queryable, { path, salt }: Journal, oppositions: readonly Opposition[]): Promise<void> {
  await client.query(`select pg_advisory_xact_lock_shared(${REPLACEMENT_LOCK})`);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const file = await open(path, 'a', 0o600);
  try {
    const isNew = (await file.stat()).size === 0;
    if (isNew && process.geteuid?.() === 0) {
      // Root's command in the directory of another user, whose daemon writes on.
      const { uid, gid } = await stat(dirname(path));
      await file.chown(uid, gid);
    }
    // A line that a crash has cut ends before the next one.
    const lines = isNew ? [{ salt }, ...oppositions] : oppositions;
    await file.appendFile(lines.map((line) => `\n${JSON.stringify(line)}\n`).join(''));
    await file.sync();
  } finally {
    await file.close();
  }
}

interface Written {
  /** The last line of each recipient. */
  readonly last: ReadonlyMap<string, Opposition>;
  readonly lineCount: number;
}

/** Read line by line: a long file holds nobody up. */
async function read({ path, salt }: Journal): Promise<Written> {
  const last = new Map<string, Opposition>();
  let lineCount = 0;
  const file = await open(path).catch(nullIfMissing);
  if (file === null) return { last, lineCount };
  for await (const text of file.readLines()) {
    for (const line of parsed(text)) {
      lineCount += 1;
      if ('salt' in line && line.salt !== salt) {
        throw new SaltError(`${path} has the salt of another database, and is not applied`);
      }
      // A restored backup may have added older ones.
      if ('key' in line && timeOfLast(line) >= timeOfLast(last.get(line.key))) last.set(line.key, line);
    }
  }
  return { last, lineCount };
}

/** A file of fewer is left as it is. */
const REPLACED_LINES_MIN = 1_000;

function mayReplace({ last, lineCount }: Written): boolean {
  return lineCount > REPLACED_LINES_MIN + 2 * last.size;
}

/** Whoever repeats an erasure does not let the file grow. Rejects before anything is replaced. */
async function replace(database: Database, journal: Journal): Promise<void> {
  await transaction(database, async (client) => {
    await client.query(`select pg_advisory_xact_lock(${REPLACEMENT_LOCK})`);
    const written = await read(journal);
    if (!mayReplace(written)) return;
    const path = `${journal.path}.new`;
    await rm(path, { force: true });
    await append(client, { ...journal, path }, [...written.last.values()]);
    await rename(path, journal.path);
    const directory = await open(dirname(path));
    await directory.sync().finally(() => directory.close());
  });
}

function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}

/** None for a line that a crash has cut: its erasure was not answered. */
function parsed(line: string): readonly (Opposition | { readonly salt: string })[] {
  const time = (name: string, value: unknown): unknown =>
    name.endsWith('At') && typeof value === 'string' ? new Date(value) : value;
  try {
    return line === '' ? [] : [JSON.parse(line, time)];
  } catch {
    return [];
  }
}

/** Served by mail_recipients_erased. */
async function readStored(database: Queryable): Promise<ReadonlyMap<string, Opposition>> {
  const { rows } = await database.query<Opposition>(
    `select ${OPPOSITION} from mail_recipients where greatest(erased_at, lifted_at) is not null`,
  );
  return new Map(rows.map((row) => [row.key, row]));
}

/** Of its last erasure or lifting. */
function timeOfLast(opposition: Opposition | undefined): number {
  return Math.max(opposition?.erasedAt?.getTime() ?? 0, opposition?.liftedAt?.getTime() ?? 0);
}

/**
 * A function that resolves with the number of oppositions applied: what the database lacks is applied, and what the file
 * lacks is written. Where neither has changed since the last call, neither is read.
 */
export function createErasureSync(database: Database, directory: () => string): () => Promise<number> {
  let last = '';
  return async () => {
    const mark = await markOf(database, directory());
    if (mark === last) return 0;
    const applied = await syncErasures(database, directory());
    last = mark;
    return applied;
  };
}

async function syncErasures(database: Database, directory: string): Promise<number> {
  const journal = await journalOf(database, directory);
  const [written, before] = [await read(journal), await readStored(database)];
  const unknown = [...written.last.values()].filter((line) => timeOfLast(before.get(line.key)) < timeOfLast(line));
  if (unknown.length > 0) {
    const keys = unknown.map(({ key }) => key);
    const addresses = await readAddresses(database, keys);
    for (const opposition of unknown) await applyOpposition(database, opposition, addresses.get(opposition.key) ?? []);
  }
  const missing = [...(await readStored(database)).values()].filter((stored) => {
    const line = written.last.get(stored.key);
    return (
      timeOfLast(line) < timeOfLast(stored) || line?.unsubscribedAt?.getTime() !== stored.unsubscribedAt?.getTime()
    );
  });
  if (missing.length > 0) await transaction(database, (client) => append(client, journal, missing));
  if (mayReplace(written)) await replace(database, journal);
  return unknown.length;
}

/** Changes with the file, and with what the database has of it. */
async function markOf(database: Database, directory: string): Promise<string> {
  const { path } = await journalOf(database, directory);
  const file = await stat(path).catch(nullIfMissing);
  const { rows } = await database.query(`
    select count(*), max(greatest(erased_at, lifted_at)), count(unsubscribed_at), max(unsubscribed_at)
    from mail_recipients where greatest(erased_at, lifted_at) is not null`);
  return JSON.stringify([path, file?.size, rows]);
}

/** Services without embedded servers may have no data directory, or one that they may only read. */
const UNWRITABLE = ['DATA_DIRECTORY_UNUSABLE', 'EACCES', 'ENOTDIR', 'EPERM', 'EROFS'];

type Warn = (sentence: string) => void;

function warnIfUnwritable(warn: Warn, error: NodeJS.ErrnoException): void {
  if (!UNWRITABLE.includes(error.code ?? '')) throw error;
  warn(`erasures are not written beside the data: a restored database will not know them (${error.message})`);
}

/** Keeps an opposition before its commit; `warn` is called where that cannot be. */
export function keepBeside(directory: () => string, warn: Warn): KeepOpposition {
  return async (client, opposition) => {
    try {
      await append(client, await journalOf(client, directory()), [opposition]);
    } catch (error) {
      warnIfUnwritable(warn, error as Error);
    }
  };
}

const SYNC_EVERY_MS = 60_000;

/** Before any role opens: nothing is sent to who was erased before a restore. */
export async function startErasureSync(parts: Parts): Promise<void> {
  const { database, dataDirectory, log, closing, onTransientError } = parts;
  const sync = createErasureSync(database, dataDirectory);
  const work = async (): Promise<void> => {
    const applied = await sync();
    if (applied > 0) log.warn({ recipients: applied }, 'the database was restored: recipients are erased again');
  };
  await work().catch((error: Error) => warnIfUnwritable((reason) => log.warn(reason), error));
  const task = startTask({ what: 'erasures', everyMs: SYNC_EVERY_MS, work, onTransientError });
  closing('erasures', task.stop);
}
