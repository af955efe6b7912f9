/**
 * What the command line asks for, and nothing else. A command loads its own modules alone: the whole daemon would treble
 * the time that `vigie admin` takes.
 */

import { parseArgs } from 'node:util';
import { CommandError, print } from './cli/terminal.ts';
import { ConfigError, readConfig } from './config.ts';
import { VERSION } from './version.ts';

const USAGE = `Vigie ${VERSION}: saved-search alerts for real-estate adverts

  vigie serve                                   run the daemon
  vigie demo [--seconds N] [--seed N]           run it on sample adverts, with a webhook receiver that shows what arrives
  vigie publish [--strict] [FILE]               send intake messages, one JSON object a line, from FILE or standard input;
                                                strictly: no members that the contract does not know
  vigie nats                                    print the URL of NATS, with user and password, for crawlers
  vigie keys create --client NAME [--name NAME] create an API key, and its client when it is new
  vigie keys list                               list clients and keys
  vigie keys revoke ID                          revoke a key
  vigie import points-of-interest FILE [--source NAME] [--format NAME]
                                                import schools, restaurants and so on; replaces the source's points
  vigie import coordinates FILE                 import commune centres (La Poste or geo.api.gouv.fr)
  vigie admin --help                            what operators can do to a running daemon: status, pause, replay, explain …

Settings come from the environment; config/default.env lists them.`;

const USAGE_EXIT = 2;
const WARNINGS_MAX = 50;

async function main([command = 'help', ...args]: readonly string[]): Promise<void> {
  switch (command) {
    case 'serve': {
      parse(args, {}, 0);
      const { serve } = await import('./cli/serve.ts');
      return serve(readConfig());
    }
    case 'demo': {
      const { values } = parse(args, { seconds: { type: 'string' }, seed: { type: 'string' } }, 0);
      const { runDemo } = await import('./cli/demo.ts');
      return runDemo({ seconds: wholeNumber('seconds', values.seconds), seed: wholeNumber('seed', values.seed) });
    }
    case 'publish': {
      const { values, positionals } = parse(args, { strict: { type: 'boolean' } }, 1);
      return publishCommand(positionals[0] ?? null, values.strict === true);
    }
    case 'nats': {
      parse(args, {}, 0);
      const { natsUrlOf } = await import('./cli/connect.ts');
      return print(await natsUrlOf(readConfig()));
    }
    case 'keys':
      return keysCommand(args);
    case 'import':
      return importCommand(args);
    case 'admin': {
      const { runAdmin } = await import('./cli/admin/admin.ts');
      return runAdmin(args);
    }
    case 'help':
    case '--help':
    case '-h':
      return print(USAGE);
    case '--version':
      return print(VERSION);
    default:
      throw new UsageError(`unknown command ${command}`);
  }
}

async function publishCommand(file: string | null, isStrict: boolean): Promise<void> {
  const { natsUrlOf } = await import('./cli/connect.ts');
  const { describeUnknown, publishLines } = await import('./cli/publish.ts');
  const warned = new Set<string>();
  const summary = await publishLines({
    natsUrl: await natsUrlOf(readConfig()),
    file,
    isStrict,
    // Every line is likely to have the same ones.
    onUnknownMember(lineNumber, member) {
      if (warned.has(member.path) || warned.size === WARNINGS_MAX) return;
      warned.add(member.path);
      process.stderr.write(`line ${lineNumber}: ${describeUnknown(member)}\n`);
    },
    onProgress: ({ published, refused }) => process.stderr.write(`${published} published, ${refused} refused\n`),
    onRefusal: (lineNumber, reason) => process.stderr.write(`line ${lineNumber} refused: ${reason}\n`),
  });
  print(`${summary.published} published, ${summary.duplicates} already there, ${summary.refused} refused`);
  if (summary.refused > 0) process.exitCode = 1;
}

async function keysCommand([action = '', ...args]: readonly string[]): Promise<void> {
  const { tellOfKeys, withDatabase } = await import('./cli/connect.ts');
  const { createKey, listKeys, revokeKey } = await import('./cli/keys.ts');
  if (action === 'create') {
    const { values } = parse(args, { client: { type: 'string' }, name: { type: 'string', default: 'default' } }, 0);
    const { client, name } = values;
    if (client === undefined || client.trim() === '') throw new UsageError('keys create needs --client NAME');
    return withDatabase(readConfig(), (database) => createKey(database, client, name));
  }
  if (action === 'list') return withDatabase(readConfig(), listKeys);
  if (action === 'revoke') {
    const { positionals } = parse(args, {}, 1);
    const [id] = positionals;
    if (id === undefined) throw new UsageError('keys revoke needs the ID of a key');
    const config = readConfig();
    await withDatabase(config, (database) => revokeKey(database, id));
    return tellOfKeys(config);
  }
  throw new UsageError('keys takes create, list or revoke');
}

async function importCommand([what = '', ...args]: readonly string[]): Promise<void> {
  const { tellOfCoordinates, withDatabase } = await import('./cli/connect.ts');
  const { importCoordinateFile, importPointFile } = await import('./cli/import.ts');
  const { values, positionals } = parse(args, { source: { type: 'string' }, format: { type: 'string' } }, 1);
  const [path] = positionals;
  if (path === undefined) throw new UsageError('import needs a FILE');
  const { source, format } = values;
  if (what === 'points-of-interest') {
    return withDatabase(readConfig(), (database) => importPointFile(database, path, { source, format }));
  }
  if (what === 'coordinates') {
    if (source !== undefined || format !== undefined) throw new UsageError('import coordinates takes a FILE alone');
    const config = readConfig();
    const announce = () => tellOfCoordinates(config);
    return withDatabase(config, (database) => importCoordinateFile(database, path, announce));
  }
  throw new UsageError('import takes points-of-interest or coordinates');
}

class UsageError extends Error {}

function parse<const O extends Record<string, { type: 'string'; default?: string } | { type: 'boolean' }>>(
  args: readonly string[],
  options: O,
  positionalsMax: number,
) {
  try {
    const parsed = parseArgs({ args: [...args], options, allowPositionals: positionalsMax > 0, strict: true });
    if (parsed.positionals.length > positionalsMax) throw new Error(`unexpected ${parsed.positionals[positionalsMax]}`);
    return parsed;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function wholeNumber(name: string, value: string | undefined): number | null {
  if (value === undefined) return null;
  if (!/^\d{1,9}$/.test(value)) throw new UsageError(`--${name} takes a whole number`);
  return Number(value);
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (error instanceof UsageError) {
    process.stderr.write(`vigie: ${error.message}\n\n${USAGE}\n`);
    process.exitCode = USAGE_EXIT;
  } else if (isExpected(error)) {
    process.stderr.write(`vigie: ${error.message}\n`);
    process.exitCode = 1;
  } else {
    throw error;
  }
}

/** Failures with words for the person at the keyboard; anything else is a bug and shows its stack. */
function isExpected(error: unknown): error is Error {
  return (
    error instanceof ConfigError ||
    error instanceof CommandError ||
    (error instanceof Error && 'code' in error && typeof error.code === 'string')
  );
}
