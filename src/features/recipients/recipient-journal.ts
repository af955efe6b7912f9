/**
 * Keeps the choices of recipients outside the database. A database restored from a backup that is older than an erasure
 * or an unsubscription would otherwise send e-mails to these people again. The data directory has a file for each
 * database (`recipients.<its id>.jsonl`), with its salt and a line for each choice (`RecipientChoice`). Choices on the
 * page and erasures are written before the answer, others within a minute. Choices that the database lacks are applied
 * at the start, before anything is sent. Those that a promoted older standby lacks are applied within a minute.
 * Replaced lines are dropped. Lines of an unknown kind or scope, from a later version, are kept.
 */

import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { startTask } from '../../engine/actor/task.ts';
import type { RecipientChoice } from '../../engine/domain/mail.ts';
import { type Database, type Queryable, transaction } from '../../engine/store/database.ts';
import type { Parts } from '../../feature.ts';
import { nullIfMissing, openRegular } from '../../local/ownership.ts';
import type { KeepChoice } from '../../rest/dependencies.ts';
import { eraseRecipient } from './erasure.ts';
import { readAddresses } from './holdings.ts';

interface Journal {
  readonly path: string;
  readonly salt: string;
  /** Differs after a restart of PostgreSQL, and for another database. */
  readonly server: string;
  readonly now: Date;
}

/** A file with another salt belongs to another database. */
class SaltError extends Error {
  readonly code = 'CHOICES_OF_ANOTHER_SALT';
}

async function journalOf(database: Queryable, directory: string): Promise<Journal> {
  const { rows } = await database.query<{ id: string } & Omit<Journal, 'path'>>(
    `select database_id as id, encode(salt, 'hex') as salt, clock_timestamp() as now,
       concat(pg_postmaster_start_time(), (select oid from pg_database where datname = current_database())) as server
     from installation, mail_salts`,
  );
  const { id, ...journal } = rows[0] as (typeof rows)[number];
  return { ...journal, path: join(directory, `recipients.${id}.jsonl`) };
}

/** An arbitrary number that nothing else in the database locks: shared to append, exclusive to replace the file. */
const REPLACEMENT_LOCK = 4_215_007_336n;
const APPEND = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND;

/** Resolves when the choices are on disk. The first choice creates the file. `client`: in a transaction. */
async function append(
  client: Queryable,
  { path, salt }: Pick<Journal, 'path' | 'salt'>,
  choices: readonly RecipientChoice[],
): Promise<void> {
  await client.query(`select pg_advisory_xact_lock_shared(${REPLACEMENT_LOCK})`);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const file = await openRegular(path, APPEND);
  try {
    const isNew = (await file.stat()).size === 0;
    if (isNew && process.geteuid?.() === 0) {
      // If root runs a command in another user's directory, that user's daemon must still be able to write to the file.
      const { uid, gid } = await stat(dirname(path));
      await file.chown(uid, gid);
    }
    // The leading line break ends a line that a crash has truncated.
    const lines = isNew ? [{ salt }, ...choices] : choices;
    await file.appendFile(lines.map((line) => `\n${JSON.stringify(line)}\n`).join(''));
    await file.sync();
  } finally {
    await file.close();
  }
}

/** The latest of each recipient, kind and scope. */
type Choices = Map<string, RecipientChoice>;

function idOf({ key, kind, scope }: RecipientChoice): string {
  return `${key} ${kind} ${scope}`;
}

function isReplacedBy(former: RecipientChoice | undefined, choice: RecipientChoice): boolean {
  return former === undefined || former.at < choice.at;
}

interface Written {
  readonly choices: Choices;
  readonly lineCount: number;
}

/** Reads from `start` on, line by line, so that a long file does not block the process. */
async function read({ path, salt }: Journal, start = 0): Promise<Written> {
  const choices: Choices = new Map();
  let lineCount = 0;
  const file: FileHandle | null = await openRegular(path, constants.O_RDONLY).catch(nullIfMissing);
  if (file === null) return { choices, lineCount };
  for await (const text of file.readLines({ start })) {
    for (const line of parsed(text)) {
      lineCount += 1;
      if ('salt' in line && line.salt !== salt) {
        throw new SaltError(`${path} belongs to another database (its salt differs). Move it to another directory.`);
      }
      // A restored database may have added older choices.
      if ('key' in line && (choices.get(idOf(line)) ?? line).at <= line.at) choices.set(idOf(line), line);
    }
  }
  return { choices, lineCount };
}

/** Empty for a line that a crash has truncated, because its choice was not answered. */
function parsed(line: string): readonly (RecipientChoice | { readonly salt: string })[] {
  const time = (name: string, value: unknown): unknown =>
    name === 'at' && typeof value === 'string' ? new Date(value) : value;
  try {
    return line === '' ? [] : [JSON.parse(line, time)];
  } catch {
    return [];
  }
}

/** The file is rewritten if its replaced lines outnumber the others by more than this. */
const REPLACED_LINES_MIN = 1_000;

function mayReplace(lineCount: number, choiceCount: number): boolean {
  return lineCount > REPLACED_LINES_MIN + 2 * choiceCount;
}

/** Removes replaced lines, so that repeated choices do not let the file grow. A failed write leaves it unchanged. */
async function replace(database: Database, journal: Journal): Promise<void> {
  await transaction(database, async (client) => {
    await client.query(`select pg_advisory_xact_lock(${REPLACEMENT_LOCK})`);
    const { choices, lineCount } = await read(journal);
    if (!mayReplace(lineCount, choices.size)) return;
    const path = `${journal.path}.new`;
    await rm(path, { force: true });
    await append(client, { ...journal, path }, [...choices.values()]);
    await rename(path, journal.path);
    const directory = await open(dirname(path));
    await directory.sync().finally(() => directory.close());
  });
}

/** The latest choices made after `since`, or all of them if it is null. Served by mail_choices_at. */
async function readStored(database: Queryable, since: Date | null): Promise<Choices> {
  const { rows } = await database.query<RecipientChoice>(
    `select recipient_key as key, client_id as "clientId", kind, scope, value, at from mail_choices
     where at > coalesce($1, '-infinity'::timestamptz)`,
    [since],
  );
  return new Map(rows.map((choice) => [idOf(choice), choice]));
}

const NOBODY: ReadonlyMap<string, readonly string[]> = new Map();

/**
 * Applies choices that this database lacks because it was restored. For an erasure, erases the data again and keeps the
 * recorded time. A recipient's choice that was made in the meantime stays.
 */
async function apply(database: Database, choices: readonly RecipientChoice[]): Promise<void> {
  const erased = choices.filter(({ kind }) => kind === 'erasure');
  const keys = erased.map(({ key }) => key);
  const addresses = keys.length === 0 ? NOBODY : await readAddresses(database, keys);
  // The choices are in the file already.
  const keep = async (): Promise<void> => undefined;
  for (const { key, clientId } of erased) {
    for (const address of addresses.get(key) ?? []) await eraseRecipient(database, { clientId, address }, keep);
  }
  await database.query(
    `with chosen as materialized (
       select * from json_to_recordset($1)
         as chosen(key text, "clientId" uuid, kind text, scope text, value jsonb, at timestamptz)
       order by key, kind, scope
     ), known as (
       insert into mail_recipients (key, client_id) select distinct key, "clientId" from chosen order by key
       on conflict do nothing
     )
     insert into mail_choices (recipient_key, client_id, kind, scope, value, at)
     select key, "clientId", kind, scope, value, at from chosen
     on conflict (recipient_key, kind, scope) do update set value = excluded.value, at = excluded.at
     where excluded.kind = 'erasure' or mail_choices.at < excluded.at`,
    [JSON.stringify(choices)],
  );
}

/** The state up to which file and database are known to agree. */
interface Agreement {
  readonly source: string;
  /** Bytes of the file that were read. */
  readonly size: number;
  readonly at: Date;
  readonly lineCount: number;
  readonly choiceCount: number;
  /** The choices in the file from the last `OVERLAP_MS`. */
  readonly recent: Choices;
}

/** Longer than a transaction takes between the time of its choice and its commit. */
const OVERLAP_MS = 10 * 60_000;

/**
 * Returns a function that applies choices that the database lacks, writes those that the file lacks, and resolves with
 * the number of choices applied. It compares all choices at the first call, after a restart of PostgreSQL, and after
 * the database or file was replaced; otherwise only new choices.
 */
export function createChoiceSync(database: Database, directory: () => string): () => Promise<number> {
  let agreement: Agreement | null = null;
  return async () => {
    const journal = await journalOf(database, directory());
    const file = await stat(journal.path).catch(nullIfMissing);
    const source = [journal.path, journal.server, file?.ino].join(' ');
    const size = file?.size ?? 0;
    const isSame = agreement?.source === source && agreement.size <= size && agreement.at <= journal.now;
    const former = isSame ? agreement : null;
    agreement = null;
    const written = await read(journal, former?.size);
    const since = former === null ? null : new Date(former.at.getTime() - OVERLAP_MS);
    const stored = await readStored(database, since);
    const unknown = former === null ? lackingIn(stored, written.choices) : [];
    await apply(database, unknown);
    const known: Choices = new Map([...(former?.recent ?? []), ...written.choices]);
    const missing = [...stored.values()].filter((choice) => {
      const line = known.get(idOf(choice));
      return isReplacedBy(line, choice) || (line?.at.getTime() === choice.at.getTime() && line.value !== choice.value);
    });
    if (missing.length > 0) await transaction(database, (client) => append(client, journal, missing));
    for (const choice of missing) known.set(idOf(choice), choice);
    const lineCount = (former?.lineCount ?? 0) + written.lineCount;
    const choiceCount = former?.choiceCount ?? known.size;
    if (mayReplace(lineCount, choiceCount)) await replace(database, journal);
    else {
      const recent = new Map([...known].filter(([, { at }]) => at.getTime() > journal.now.getTime() - OVERLAP_MS));
      agreement = { source, size, at: journal.now, lineCount, choiceCount, recent };
    }
    return unknown.length;
  };
}

/** Choices in the file that are later than the stored ones, without those that only a later version of Vigie knows. */
function lackingIn(stored: Choices, written: Choices): readonly RecipientChoice[] {
  return [...written.values()].filter(
    (line) => KNOWN.test(`${line.kind} ${line.scope}`) && isReplacedBy(stored.get(idOf(line)), line),
  );
}

const KNOWN = /^(?:(?:erasure|unsubscription|frequency) sender|unsubscription search:.+)$/;

/** Services without embedded servers may have no data directory, or may only read it. */
const UNWRITABLE = ['DATA_DIRECTORY_UNUSABLE', 'EACCES', 'ENOTDIR', 'EPERM', 'EROFS'];

type Warn = (sentence: string) => void;

function warnIfUnwritable(warn: Warn, error: NodeJS.ErrnoException): void {
  if (!UNWRITABLE.includes(error.code ?? '')) throw error;
  warn(
    `The choices of recipients cannot be written to the data directory (${error.message}), so a restored database would ` +
      'lack them. Set VIGIE_DATA_DIR to a writable directory.',
  );
}

/** `warn` is called if a choice cannot be kept. */
export function keepBeside(directory: () => string, warn: Warn): KeepChoice {
  return async (client, choice) => {
    try {
      await append(client, await journalOf(client, directory()), [choice]);
    } catch (error) {
      warnIfUnwritable(warn, error as Error);
    }
  };
}

const SYNC_EVERY_MS = 60_000;

/** Runs before any role opens: nothing is sent to recipients who were erased or unsubscribed before a restore. */
export async function startChoiceSync(parts: Parts): Promise<void> {
  const { database, dataDirectory, log, closing, onTransientError } = parts;
  const sync = createChoiceSync(database, dataDirectory);
  const work = async (): Promise<void> => {
    const applied = await sync();
    if (applied > 0)
      log.warn({ choices: applied }, 'The database lacked choices of recipients. They were applied from the file.');
  };
  await work().catch((error: Error) => warnIfUnwritable((reason) => log.warn(reason), error));
  const task = startTask({ what: 'choices of recipients', everyMs: SYNC_EVERY_MS, work, onTransientError });
  closing('choices of recipients', task.stop);
}
