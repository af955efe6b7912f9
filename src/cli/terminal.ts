/** What commands show people: plain lines, and colours only where a terminal shows them. */

import { stdout } from 'node:process';
import { styleText } from 'node:util';

export type Style = Parameters<typeof styleText>[0];

export function styled(style: Style, text: string): string {
  return stdout.isTTY && process.stdout.hasColors() ? styleText(style, text) : text;
}

export function print(line = ''): void {
  stdout.write(`${line}\n`);
}

/** A command that cannot do what was asked, with words for the person who asked; no stack trace is shown. */
export class CommandError extends Error {
  readonly code = 'COMMAND_FAILED';
}

const euros = new Intl.NumberFormat('fr-FR', { style: 'currency', currency: 'EUR', maximumFractionDigits: 0 });

export function formatEuros(amount: number | null | undefined): string {
  return amount === null || amount === undefined ? 'no price' : euros.format(amount).replaceAll(/\s/gu, ' ');
}
