/** What commands show people: plain lines, colours only where a terminal shows them, failures in a sentence. */

import { stdout } from 'node:process';
import { getSystemErrorMap, styleText } from 'node:util';

export type Style = Parameters<typeof styleText>[0];

export function styled(style: Style, text: string): string {
  return stdout.isTTY && process.stdout.hasColors() ? styleText(style, text) : text;
}

export function print(line = ''): void {
  stdout.write(`${line}\n`);
}

/** What a person types before another command: as this one was started in a checkout, by npx, or by name. */
export const commandLine = commandLineOf(process.argv[1] ?? '');

function commandLineOf(script: string): string {
  if (script.endsWith('main.ts')) return 'npm run -s vigie --';
  return script.includes('/node_modules/.bin/') ? 'npx vigie' : 'vigie';
}

/** A command that cannot do what was asked, with words for the person who asked; no stack trace is shown. */
export class CommandError extends Error {
  readonly code = 'COMMAND_FAILED';
  readonly exitCode: number = 1;
}

/** Of a file that was named on the command line. */
export function cannotRead(path: string, error: unknown): CommandError {
  return new CommandError(`cannot read ${path}: ${reasonOf(error as Error)}`, { cause: error });
}

/** What the system says, without its codes and calls; the message of another error. */
export function reasonOf({ errno, message }: NodeJS.ErrnoException): string {
  return (errno === undefined ? undefined : getSystemErrorMap().get(errno)?.[1]) ?? message;
}
