/** `vigie admin`: the calls of the administration interface on the command line. */

import { parseArgs } from 'node:util';
import { readConfig } from '../../config.ts';
import { print } from '../terminal.ts';
import { AdminCallError, type ConnectionFlags, connectAdmin } from './client.ts';
import { type Command, GLOBAL_OPTIONS, parse, UsageError, usageOf } from './command.ts';
import { DEAD_LETTER_COMMANDS } from './dead-letter-commands.ts';
import { DELIVERY_COMMANDS } from './delivery-commands.ts';
import { REFERENCE_COMMANDS } from './reference-commands.ts';
import { SERVICE_COMMANDS } from './service-commands.ts';

const COMMANDS: readonly Command[] = [
  ...SERVICE_COMMANDS,
  ...DELIVERY_COMMANDS,
  ...DEAD_LETTER_COMMANDS,
  ...REFERENCE_COMMANDS,
];

const FLAGS = `Connection (with every command)
  --address HOST:PORT     the daemon; the default is VIGIE_ADMIN_HOST and VIGIE_ADMIN_PORT
  --token-file FILE       the bearer token; the default is VIGIE_ADMIN_TOKEN, then the daemon's data directory
  --ca FILE               speak TLS, and trust these authorities (PEM)
  --cert FILE --key FILE  show this client certificate (PEM)
  --timeout SECONDS       give up after this long; without it the daemon does after 30 s, ten minutes for long work
  --json                  the answer as JSON, for scripts`;

const EXITS = `Exit codes
  0 done             1 failed                       2 wrong command line or argument   3 not found
  4 token refused    5 no daemon, or one without    6 not possible in this state       7 not done in time
                       its PostgreSQL or NATS`;

const EXAMPLES = `Examples
  vigie admin status
  vigie admin stages drain deliver --reason 'certificate of the proxy'
  vigie admin explain 0198c5d2-… 7f0c1f3e-…
  vigie admin deliveries replay --endpoint https://client.example/hook --since 2d --dry-run
  vigie admin dead-letters requeue --reason 'propertyType'
  vigie admin watch --failures --json | jq .attempt.error`;

/** Sets the exit code; throws what is neither the user's mistake nor the server's refusal. */
export async function runAdmin(args: readonly string[]): Promise<void> {
  process.stdout.on('error', leaveQuietly);
  try {
    await run(args);
  } catch (error) {
    if (error instanceof UsageError) fail(2, `${error.message}\n${moreHelp(args)}`);
    else if (error instanceof AdminCallError) fail(error.exitCode, error.message);
    else throw error;
  }
}

async function run(args: readonly string[]): Promise<void> {
  const { command, words, rest } = split(args);
  if (command === null) return helpOrThrow(args, words);
  const { input, values } = parse(command, rest);
  if (values.help === true) return print(helpOf([command]));
  const client = await connectAdmin(readConfig(), values as unknown as ConnectionFlags);
  try {
    await command.run(client, input);
  } finally {
    client.stub.close();
  }
}

function helpOrThrow(args: readonly string[], [topic, ...others]: readonly string[]): void {
  const isHelp = topic === 'help' || args.includes('--help') || args.includes('-h');
  if (args.length === 0 || (isHelp && (topic === undefined || topic === 'help'))) return print(helpOf(COMMANDS));
  if (topic === undefined) throw new UsageError('say what to do');
  const group = COMMANDS.filter(({ words }) => words.split(' ')[0] === topic);
  if (group.length === 0) throw new UsageError(`unknown command ${topic}`);
  if (others.length > 0 && !isHelp) {
    throw new UsageError(`${topic} takes ${group.map(({ words }) => words.split(' ')[1]).join(', ')}`);
  }
  return print(helpOf(group));
}

/** Options of every command may stand before and between its words as well as behind them. */
function split(args: readonly string[]): {
  readonly command: Command | null;
  readonly words: readonly string[];
  readonly rest: readonly string[];
} {
  const { tokens } = parseArgs({ args: [...args], options: GLOBAL_OPTIONS, strict: false, tokens: true });
  const named = tokens.filter((token) => token.kind === 'positional').slice(0, 2);
  const words = named.map(({ value }) => value);
  const command = COMMANDS.find((each) => each.words === words.join(' ') || each.words === words[0]) ?? null;
  const taken = named.slice(0, command?.words.split(' ').length).map(({ index }) => index);
  return { command, words, rest: args.filter((_, index) => !taken.includes(index)) };
}

function moreHelp(args: readonly string[]): string {
  const { command } = split(args);
  if (command === null) return 'vigie admin --help shows every command';
  return `vigie admin ${command.words} --help says what it takes`;
}

function helpOf(commands: readonly Command[]): string {
  const [only, ...others] = commands;
  if (only !== undefined && others.length === 0) return helpOfOne(only);
  const width = Math.max(...commands.map((command) => nameOf(command).length));
  const lines = commands.map((command, at) => {
    const [group] = command.words.split(' ');
    const isNewGroup = at > 0 && group !== commands[at - 1]?.words.split(' ')[0];
    return `${isNewGroup ? '\n' : ''}  ${nameOf(command).padEnd(width)}  ${command.summary}`;
  });
  const title = 'vigie admin: what operators can do to a running daemon';
  const more = 'vigie admin COMMAND --help says what a command takes.';
  return [title, '', ...lines, '', more, '', FLAGS, '', EXITS, '', EXAMPLES].join('\n');
}

function nameOf({ words, args = '' }: Command): string {
  return `${words} ${args}`.trim();
}

function helpOfOne(command: Command): string {
  const { summary, details, options = {} } = command;
  const flags = Object.entries(options).map(([name, { value = '', summary: meaning }]) => [
    `--${name} ${value}`.trim(),
    meaning,
  ]);
  const width = Math.max(0, ...flags.map(([name = '']) => name.length));
  const lines = flags.map(([name = '', meaning = '']) => `  ${name.padEnd(width)}  ${meaning}`);
  return [
    `vigie admin ${usageOf(command)}`,
    '',
    `${summary[0]?.toUpperCase()}${summary.slice(1)}.`,
    ...(details === undefined ? [] : [details]),
    ...(lines.length === 0 ? [] : ['', 'Options', ...lines]),
    '',
    FLAGS,
  ].join('\n');
}

/** `vigie admin … | head` has seen enough. */
function leaveQuietly(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
}

function fail(exitCode: number, message: string): void {
  process.stderr.write(`vigie: ${message}\n`);
  process.exitCode = exitCode;
}
