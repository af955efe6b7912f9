/** Dates in feed files: ISO 8601, day first as in France, or the order given in the mapping. */

import { z } from 'zod';

const ISO = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?(Z|[+-]\d\d:\d\d)?$/;
const TIME = '(?:(?:T| (?:à )?)(?<hour>\\d{1,2})[:h](?<minute>\\d\\d)(?::(?<second>\\d\\d))?)?';
const DAY_FIRST = new RegExp(`^(?<dd>\\d{1,2})([/.-])(?<MM>\\d{1,2})\\2(?<yyyy>\\d{4})${TIME}$`);

/** `written`: an order such as `MM/dd/yyyy`, with or without a time. Null unless it has day, month and year once. */
export function dateForm(written: string): RegExp | null {
  const order = written.replace(/[T ]HH:mm(?::ss)?$/, '');
  const parts = order.match(/yyyy|MM|dd|[\p{L}\d]/gu) ?? [];
  if (parts.toSorted().join() !== 'MM,dd,yyyy') return null;
  const digits = /^\p{L}+$/u.test(order) ? '\\d\\d' : '\\d{1,2}';
  const day = order
    .replaceAll(/[^\p{L}]/gu, '\\$&')
    .replace(/MM|dd/g, `(?<$&>${digits})`)
    .replace('yyyy', '(?<yyyy>\\d{4})');
  return new RegExp(`^${day}${TIME}$`);
}

/** A date without a time is midnight in UTC. ISO 8601 times without an offset are in UTC, other times in Paris time. */
export function instantOf(text: string, form = DAY_FIRST): string | undefined {
  const [, date, time = '00:00:00', offset = 'Z'] = ISO.exec(text) ?? [];
  if (date !== undefined) return utcOf(date, time, offset)?.toISOString();
  const { yyyy = '', MM = '', dd = '', hour, minute, second = '00' } = form.exec(text)?.groups ?? {};
  const day = [yyyy, MM.padStart(2, '0'), dd.padStart(2, '0')].join('-');
  if (hour === undefined) return utcOf(day, '00:00:00', 'Z')?.toISOString();
  const shown = utcOf(day, `${hour.padStart(2, '0')}:${minute}:${second}`, 'Z')?.getTime();
  return shown === undefined ? undefined : new Date(shown - parisOffsetMs(shown - parisOffsetMs(shown))).toISOString();
}

function utcOf(day: string, time: string, offset: string): Date | undefined {
  const instant = new Date(`${day}T${time}${offset}`);
  // JavaScript reads 30 February as a day in March.
  return z.regexes.date.test(day) && !Number.isNaN(instant.getTime()) ? instant : undefined;
}

const PARIS = new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Paris', dateStyle: 'short', timeStyle: 'medium' });

function parisOffsetMs(atMs: number): number {
  return Date.parse(`${PARIS.format(atMs).replace(' ', 'T')}Z`) - atMs;
}
