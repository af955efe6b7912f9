/**
 * What commands show people: plain lines, colours only where a terminal shows them, failures in a sentence; and the signals
 * by which people end them.
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

/** Also what turns the order of the characters about it: it would show one text for another. */
// oxlint-disable-next-line eslint/no-control-regex -- exactly those
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** External text must not control the terminal. */
export function printable(text: string): string {
  return text.replaceAll(CONTROLS, '\ufffd');
}

/** The same for JSON, whose value stays. */
export function escapedJson(json: string): string {
  return json.replaceAll(CONTROLS, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

const CHECKOUT = /\/src\/main\.ts$|(?<!\/node_modules\/vigie)\/dist\/src\/main\.js$/;

/** The prefix that a person types before another command: as this one was started in a checkout, by npx, or by name. */
export const commandLine = commandLineOf(process.argv[1] ?? '');

function commandLineOf(script: string): string {
  if (CHECKOUT.test(script)) return 'npm run -s vigie --';
  return script.includes('/node_modules/.bin/') ? 'npx vigie' : 'vigie';
}

/** A command that cannot do its work, with a message for the user; no stack trace is shown. */
export class CommandError extends Error {
  readonly code = 'COMMAND_FAILED';
  readonly exitCode: number = 1;
}

/** For a file that was named on the command line. */
export function cannotRead(path: string, error: unknown): CommandError {
  return new CommandError(`cannot read ${path}: ${reasonOf(error as Error)}`, { cause: error });
}

/** The system's message, without its codes and calls; the message of any other error. */
export function reasonOf({ errno, message }: NodeJS.ErrnoException): string {
  return (errno === undefined ? undefined : getSystemErrorMap().get(errno)?.[1]) ?? message;
}

/** Two signals within this time are one. */
const ECHO_MS = 1_000;

type StopSignal = 'SIGTERM' | 'SIGINT';

/**
 * Aborted by the first signal, with its name for a reason. `onImpatience`: called for a second one. `npm start` passes on what
 * the terminal or the service manager has sent to the process as well, so the same signal may arrive twice within a moment.
 */
export function stopSignal(onImpatience: (signal: StopSignal) => void): AbortSignal {
  const stopping = new AbortController();
  let askedAt = 0;
  const onSignal = (signal: StopSignal): void => {
    if (!stopping.signal.aborted) {
      askedAt = performance.now();
      stopping.abort(signal);
    } else if (performance.now() - askedAt > ECHO_MS) onImpatience(signal);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, onSignal);
  return stopping.signal;
}

/** For work that the first signal interrupts in order; a second one ends the process at once. */
export function interruptSignal(): AbortSignal {
  return stopSignal((signal) => process.exit(exitCodeOf(signal)));
}

/** Interrupted work, with its result so far. */
export class InterruptedError extends CommandError {
  override readonly exitCode: number;

  constructor({ reason }: AbortSignal, summary: string) {
    super(`interrupted: ${summary}`);
    this.exitCode = exitCodeOf(reason as StopSignal);
  }
}

/** As shells have it (POSIX, Shell Command Language, 2.8.2): 130 after Ctrl-C. */
function exitCodeOf(signal: StopSignal): number {
  return 128 + constants.signals[signal];
}
