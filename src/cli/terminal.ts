/**
 * The output of commands for people: plain lines, colours only on a terminal, and a sentence for each failure. Also
 * handles the signals that interrupt a command.
 */

import { constants } from 'node:os';
import { stdout } from 'node:process';
import { getSystemErrorMap, styleText } from 'node:util';

export type Style = Parameters<typeof styleText>[0];

export function styled(style: Style, text: string): string {
  return stdout.isTTY && process.stdout.hasColors() ? styleText(style, text) : text;
}

export function print(line = ''): void {
  stdout.write(`${line}\n`);
}

/** Includes characters that reverse the direction of text, because these can make one text look like another. */
// oxlint-disable-next-line eslint/no-control-regex -- exactly those
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Replaces control characters, because external text must not control the terminal. */
export function printable(text: string): string {
  return text.replaceAll(CONTROLS, '\ufffd');
}

/** Escapes control characters in JSON, which does not change the value. */
export function escapedJson(json: string): string {
  return json.replaceAll(CONTROLS, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

const CHECKOUT = /\/src\/main\.ts$|(?<!\/node_modules\/vigie)\/dist\/src\/main\.js$/;

/** The command line that started this process: in a checkout, with npx, or by name. */
export const commandLine = commandLineOf(process.argv[1] ?? '');

function commandLineOf(script: string): string {
  if (CHECKOUT.test(script)) return 'npm run -s vigie --';
  return script.includes('/node_modules/.bin/') ? 'npx vigie' : 'vigie';
}

/** A command has failed. Only the message is shown, without a stack trace. */
export class CommandError extends Error {
  readonly code = 'COMMAND_FAILED';
  readonly exitCode: number = 1;
}

/** The error for a file on the command line that cannot be read. */
export function cannotRead(path: string, error: unknown): CommandError {
  return new CommandError(`Cannot read ${path}: ${reasonOf(error as Error)}.`, { cause: error });
}

/** The system's message without error code and system call, or the message of any other error. */
export function reasonOf({ errno, message }: NodeJS.ErrnoException): string {
  return (errno === undefined ? undefined : getSystemErrorMap().get(errno)?.[1]) ?? message;
}

/** Two signals within this time count as one (see `stopSignal`). */
const ECHO_MS = 1_000;

type StopSignal = 'SIGTERM' | 'SIGINT';

/**
 * Aborted by the first process signal, with its name as the reason. A second signal calls `onImpatience`. `npm start`
 * forwards signals that the terminal or service manager also sends to this process, so a signal may arrive twice.
 */
export function stopSignal(onImpatience: (signal: StopSignal) => void): AbortSignal {
  const stopping = new AbortController();
  let requestedAt = 0;
  const onSignal = (signal: StopSignal): void => {
    if (!stopping.signal.aborted) {
      requestedAt = performance.now();
      stopping.abort(signal);
    } else if (performance.now() - requestedAt > ECHO_MS) onImpatience(signal);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, onSignal);
  return stopping.signal;
}

/** For work that ends in an orderly way on the first signal. A second signal ends the process at once. */
export function interruptSignal(): AbortSignal {
  return stopSignal((signal) => process.exit(exitCodeOf(signal)));
}

/** The work was interrupted. The message states what was done so far. */
export class InterruptedError extends CommandError {
  override readonly exitCode: number;

  constructor({ reason }: AbortSignal, summary: string) {
    super(`Interrupted. ${summary}`);
    this.exitCode = exitCodeOf(reason as StopSignal);
  }
}

/** The exit code that shells use (POSIX, Shell Command Language, 2.8.2), e.g. 130 after Ctrl-C. */
function exitCodeOf(signal: StopSignal): number {
  return 128 + constants.signals[signal];
}
