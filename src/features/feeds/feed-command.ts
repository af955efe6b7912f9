/** `vigie feed`: publishes one snapshot of a source, shows what publishing it would change, or ends a source. */

import { type Input, UsageError } from '../../cli/command.ts';
import { natsUrlOf, withDatabase } from '../../cli/connect.ts';
import { startProgress } from '../../cli/progress.ts';
import { CommandError, cannotRead, InterruptedError, interruptSignal, print, printable } from '../../cli/terminal.ts';
import { type Config, readConfig } from '../../config.ts';
import { type Broker, connectBroker } from '../../engine/broker/connection.ts';
import { decodeIntakeMessage } from '../../engine/domain/intake-message.ts';
import type { Database } from '../../engine/store/database.ts';
import { readProperty } from '../../engine/store/properties.ts';
import type { PublishAdverts } from '../../feature.ts';
import { SnapshotRefusedError } from './feed-row.ts';
import { identityOf } from './identity.ts';
import { SourceBusyError, withSource } from './publications.ts';
import { FORMATS, type FormatName, isSourceName, openFormat, readOnce, SOURCE_RULE } from './reading.ts';
import { endSource } from './snapshot.ts';
import type { Planned } from './spool.ts';
import type { SnapshotOutcome } from './tally.ts';

type FeedOptions = ReturnType<typeof optionsOf>;

const CHANGES_SHOWN = 50;
const NOT_UNDERSTOOD = 2;

export function feedCommand(input: Input): Promise<void> {
  return feed(readConfig(), optionsOf(input), interruptSignal());
}

function optionsOf({ args, text, flag }: Input) {
  const [source = '', file = null] = args;
  const choices = { isAll: flag('all'), isForced: flag('force'), isDryRun: flag('dry-run'), isEnd: flag('end') };
  return { source, file, format: text('format'), mapping: text('mapping'), ...choices };
}

/** Sets exit code 2 if rows are invalid or many adverts have lost a member. Throws `CommandError` for a refusal. */
async function feed(config: Config, options: FeedOptions, stopping: AbortSignal): Promise<void> {
  assertUsable(options);
  const { source, file, isDryRun, isEnd } = options;
  const natsUrl = isDryRun ? null : await natsUrlOf(config);
  await withDatabase(config, async (database) => {
    const broker = natsUrl === null ? null : await connect(natsUrl);
    try {
      if (isEnd) await end(database, broker as Broker, source, stopping);
      else await readSnapshot(database, broker, options, stopping);
    } catch (error) {
      if (stopping.aborted) throw new InterruptedError(stopping, 'Run the same command again to continue.');
      throw inWords(error as Error, file);
    } finally {
      await broker?.close();
    }
  });
}

function assertUsable({ source, file, format, mapping, isEnd, isDryRun }: FeedOptions): void {
  if (!isSourceName(source)) throw new UsageError(`The source ${JSON.stringify(source)} ${SOURCE_RULE}.`);
  if (isEnd && (file !== null || isDryRun)) throw new UsageError('--end takes neither FILE nor --dry-run.');
  if (isEnd) return;
  if (file === null) throw new UsageError('Name a FILE, or end the source with --end.');
  assertFormat(format, mapping);
}

function assertFormat(format: string, mapping: string): asserts format is FormatName {
  if (!FORMATS.includes(format as FormatName)) throw new UsageError(`Set --format to ${FORMATS.join(' or ')}.`);
  if ((format === 'mapping') !== (mapping !== ''))
    throw new UsageError('--format mapping needs --mapping FILE. Other formats do not take it.');
}

function connect(url: string): Promise<Broker> {
  return connectBroker({ url, name: 'vigie feed' });
}

function inWords(error: Error, file: string | null): Error {
  if (error instanceof SnapshotRefusedError)
    return new CommandError(`${file} was refused. ${error.message}`, { cause: error });
  if (error instanceof SourceBusyError) return new CommandError(error.message, { cause: error });
  return 'syscall' in error && 'path' in error ? cannotRead(String(error.path), error) : error;
}

async function end(database: Database, broker: Broker, source: string, stopping: AbortSignal): Promise<void> {
  const clock = () => new Date();
  const count = await withSource(database, source, stopping, (ending) =>
    endSource({ database, broker, source, stopping: ending, clock }),
  );
  print(`The source ${source} was removed. Adverts that expire: ${count}.`);
}

async function readSnapshot(
  database: Database,
  broker: Broker | null,
  { source, file, format, mapping, isAll, isForced }: FeedOptions,
  stopping: AbortSignal,
): Promise<void> {
  const path = file as string;
  const progress = startProgress(`reading ${path}`, 'adverts');
  const differences: Planned[] = [];
  try {
    const outcome = await readOnce({
      database,
      broker,
      source,
      path,
      isAll,
      isForced,
      stopping,
      clock: () => new Date(),
      format: () => openFormat(format as FormatName, mapping || null, source),
      onProgress: (doing, count, share) => progress.update({ doing, count, share }),
      onDifference(planned) {
        if (broker === null && differences.length < CHANGES_SHOWN) differences.push(planned);
      },
    });
    progress.end();
    for (const difference of differences) print(printable(await describe(database, source, difference)));
    if (broker === null) for (const reference of outcome.gone) print(printable(`gone     ${reference}`));
    summarise(outcome, broker === null ? `${source} would bring` : source);
  } finally {
    progress.end();
  }
}

function summarise({ counts, complaints, notices, warnings }: SnapshotOutcome, subject: string): void {
  for (const complaint of complaints) print(printable(`not understood: ${complaint}`));
  for (const notice of notices) print(printable(`note: ${notice}`));
  for (const warning of warnings) print(printable(`warning: ${warning}`));
  const { adverts, new: created, changed, republished, unchanged, gone, notUnderstood } = counts;
  print(
    `${subject}: ${adverts} adverts; ${created} new, ${changed} changed, ${gone} gone, ${unchanged} unchanged` +
      `${republished > 0 ? `, ${republished} published again` : ''}${notUnderstood > 0 ? `, ${notUnderstood} not understood` : ''}`,
  );
  if (notUnderstood > 0 || warnings.length > 0) process.exitCode = NOT_UNDERSTOOD;
}

/** Throws `UsageError`, or `CommandError` if the mapping is invalid. */
export async function openAdverts(format: string, mapping: string): Promise<PublishAdverts> {
  const source = 'demo';
  assertFormat(format, mapping);
  const opened = await openFormat(format, mapping || null, source).catch((error: Error) => {
    throw inWords(error, mapping);
  });
  // Adverts published earlier count as known, so that unchanged ones are not published again.
  return async (path, { onAdvert: onDifference, ...where }) => {
    const options = { source, path, isAll: false, isForced: true, clock: () => new Date(), onDifference };
    return (await readOnce({ ...where, ...options, format: async () => opened })).counts;
  };
}

/** Describes a planned change by comparing it with the content that the daemon stores. */
async function describe(
  database: Database,
  source: string,
  { reference, first, content, change }: Planned,
): Promise<string> {
  const after = decodeIntakeMessage(
    Buffer.from(`{"kind":"upsert","crawledAt":"${new Date().toISOString()}",${content}`),
  );
  if (after.kind !== 'upsert') return '';
  const title = after.advert.title ?? '';
  if (change === 'new') return `new      ${reference}  ${title}`;
  const identity = identityOf(source, first);
  const stored = await readProperty(database, identity.property);
  const before = stored?.state.adverts.find(({ uuid }) => uuid === identity.advert);
  if (before === undefined) return `changed  ${reference}  ${title}`;
  const members = [...changesOf(before.content, after.advert), ...changesOf(before.property, after.property)];
  return `changed  ${reference}  ${members.length === 0 ? 'published again' : members.join(', ')}`;
}

function changesOf(before: object, after: object): readonly string[] {
  const known = before as Readonly<Record<string, unknown>>;
  return Object.entries(after).flatMap(([name, value]) => {
    const [old, now] = [JSON.stringify(known[name] ?? null), JSON.stringify(value)];
    if (old === now) return [];
    return old.length + now.length > 60 ? [name] : [`${name} ${old} → ${now}`];
  });
}
