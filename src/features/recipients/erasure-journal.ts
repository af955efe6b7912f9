/**
 * Oppositions beside the data: a database that is restored from before an erasure would bring the erased back. A file of
 * the data directory for each database (`erasures.<its id>.jsonl`) has its salt, and a line for each erasure and lifting:
 * an erasure before its commit, everything else within a minute. What the database lacks is applied at the start, before
 * anything is sent, and what a restored standby lacks within a minute.
 */

import { mkdir, open, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { startTask } from '../../engine/actor/task.ts';
import type { Uuid } from '../../engine/domain/ids.ts';
import type { Database, Queryable } from '../../engine/store/database.ts';
import type { Parts } from '../../feature.ts';
import { applyOpposition, type KeepOpposition } from './erasure.ts';
import { type Opposition, readMentions } from './holdings.ts';

export interface ErasureJournal {
  /** On disk when it resolves. */
  append(oppositions: readonly Opposition[]): Promise<void>;
  /** The last line of each recipient. */
  read(): Promise<ReadonlyMap<string, Opposition>>;
  /** Changes with each line. */
  bytes(): Promise<number>;
}

/** A file of another salt belongs to another database. */
class SaltError extends Error {
  readonly code = 'ERASURES_OF_ANOTHER_SALT';
}

/** The file is created with its first line. */
export async function openErasureJournal(database: Queryable, directory: string): Promise<ErasureJournal> {
  const { rows } = await database.query<{ id: Uuid; salt: string }>(
    `select database_id as id, encode(salt, 'hex') as salt from installation, mail_salts`,
  );
  const { id, salt } = rows[0] as { id: Uuid; salt: string };
  const path = join(directory, `erasures.${id}.jsonl`);
  return {
    async append(oppositions) {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      const file = await open(path, 'a', 0o600);
      try {
        const isNew = (await file.stat()).size === 0;
        if (isNew && process.geteuid?.() === 0) {
          // Root's command in the directory of another user, whose daemon writes on.
          const { uid, gid } = await stat(dirname(path));
          await file.chown(uid, gid);
        }
        const lines = isNew ? [{ salt }, ...oppositions] : oppositions;
        // A line that a crash has cut ends before the next one.
        await file.appendFile(lines.map((line) => `\n${JSON.stringify(line)}\n`).join(''));
        await file.sync();
      } finally {
        await file.close();
      }
    },
    async read() {
      const lines = (await readFile(path, 'utf8').catch(emptyIfMissing)).split('\n').flatMap(parsed);
      const other = lines.find((line) => 'salt' in line && line.salt !== salt);
      if (other !== undefined) throw new SaltError(`${path} has the salt of another database, and is not applied`);
      const last = new Map<string, Opposition>();
      for (const line of lines) {
        // A restored backup may have added older ones.
        if ('key' in line && timeOfLast(line) >= timeOfLast(last.get(line.key))) last.set(line.key, line);
      }
      return last;
    },
    bytes: () =>
      stat(path).then(
        ({ size }) => size,
        (error: NodeJS.ErrnoException) => Number(emptyIfMissing(error)),
      ),
  };
}

function emptyIfMissing(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT') return '';
  throw error;
}

type Line = Opposition | { readonly salt: string };

/** None for a line that a crash has cut: its erasure was not answered. */
function parsed(line: string): readonly Line[] {
  try {
    return line === '' ? [] : [JSON.parse(line, timeOf) as Line];
  } catch {
    return [];
  }
}

function timeOf(name: string, value: unknown): unknown {
  return name.endsWith('At') && typeof value === 'string' ? new Date(value) : value;
}

/** Served by mail_recipients_erased. */
async function readStored(database: Queryable): Promise<ReadonlyMap<string, Opposition>> {
  const { rows } = await database.query<Opposition>(
    `select key, client_id as "clientId", erased_at as "erasedAt", lifted_at as "liftedAt",
       unsubscribed_at as "unsubscribedAt"
     from mail_recipients where greatest(erased_at, lifted_at) is not null`,
  );
  return new Map(rows.map((row) => [row.key, row]));
}

/** Of its last erasure or lifting. */
function timeOfLast(opposition: Opposition | undefined): number {
  return Math.max(opposition?.erasedAt?.getTime() ?? 0, opposition?.liftedAt?.getTime() ?? 0);
}

/** What the database lacks is applied, and what the file lacks written. Resolves with the number applied. */
export async function syncErasures(database: Database, journal: ErasureJournal): Promise<number> {
  const [written, before] = [await journal.read(), await readStored(database)];
  const unknown = [...written.values()].filter((line) => timeOfLast(before.get(line.key)) < timeOfLast(line));
  const keys = unknown.map(({ key }) => key);
  const mentions = keys.length === 0 ? new Map<string, never>() : await readMentions(database, keys);
  for (const opposition of unknown) await applyOpposition(database, opposition, mentions.get(opposition.key) ?? []);
  const missing = [...(await readStored(database)).values()].filter((stored) => {
    const line = written.get(stored.key);
    return (
      timeOfLast(line) < timeOfLast(stored) || line?.unsubscribedAt?.getTime() !== stored.unsubscribedAt?.getTime()
    );
  });
  if (missing.length > 0) await journal.append(missing);
  return unknown.length;
}

/** Services without embedded servers may have no data directory, or one that they may only read. */
const UNWRITABLE = ['DATA_DIRECTORY_UNUSABLE', 'EACCES', 'ENOTDIR', 'EPERM', 'EROFS'];
export const UNKEPT = 'erasures are not written beside the data: a restored database will not know them';

function warnIfUnwritable(warn: (reason: string) => void) {
  return (error: NodeJS.ErrnoException): void => {
    if (!UNWRITABLE.includes(error.code ?? '')) throw error;
    warn(error.message);
  };
}

/** Keeps an opposition before its commit; called with the reason where that cannot be. */
export async function openKeeper(
  database: Queryable,
  directory: () => string,
  warn: (reason: string) => void,
): Promise<KeepOpposition> {
  const refused = warnIfUnwritable(warn);
  const journal = await Promise.resolve()
    .then(() => openErasureJournal(database, directory()))
    .catch(refused);
  return async (opposition) => journal?.append([opposition]).catch(refused);
}

const SYNC_EVERY_MS = 60_000;

/** Before any role opens: nothing is sent to who was erased before a restore. */
export async function startErasureSync(parts: Parts): Promise<void> {
  const { database, dataDirectory, log, closing, onTransientError } = parts;
  let synced = '';
  const sync = async (): Promise<void> => {
    const journal = await openErasureJournal(database, dataDirectory());
    const state = async () => `${await journal.bytes()} ${await readStamp(database)}`;
    if ((await state()) === synced) return;
    const applied = await syncErasures(database, journal);
    if (applied > 0) log.warn({ recipients: applied }, 'the database was restored: recipients are erased again');
    synced = await state();
  };
  await sync().catch(warnIfUnwritable((reason) => log.warn({ reason }, UNKEPT)));
  const task = startTask({ what: 'erasures', everyMs: SYNC_EVERY_MS, work: sync, onTransientError });
  closing('erasures', task.stop);
}

/** Changes with each opposition. Served by mail_recipients_erased. */
async function readStamp(database: Queryable): Promise<string> {
  const { rows } = await database.query<{ stamp: string }>(
    `select concat_ws(' ', count(*), max(greatest(erased_at, lifted_at)), max(unsubscribed_at), count(unsubscribed_at))
       as stamp
     from mail_recipients where greatest(erased_at, lifted_at) is not null`,
  );
  return (rows[0] as { stamp: string }).stamp;
}
