/** The file of sources that the role `feeds` reads by itself (`VIGIE_FEEDS_FILE`). */

import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { FORMATS, type FormatName, isSourceName, SOURCE_RULE } from './formats.ts';

export interface FeedSource {
  readonly name: string;
  readonly format: FormatName;
  /** The path of its mapping. */
  readonly mapping: string | null;
  /** A file, or a folder whose newest file counts; null: `url`. */
  readonly path: string | null;
  readonly url: string | null;
  /** How often it gives a snapshot; an address is asked as often. */
  readonly everyMs: number;
}

export class FeedsFileError extends Error {
  readonly code = 'FEEDS_FILE_INVALID';
}

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

const every = z.string().transform((text, context) => {
  const [, count = '', unit = ''] = /^([1-9]\d{0,4})([mhd])$/.exec(text) ?? [];
  if (unit === '') context.addIssue('must be minutes, hours or days, such as 30m, 6h or 1d');
  return Number(count) * (UNITS_MS[unit] ?? 0);
});
const url = z.url({ protocol: /^https?$/, error: 'must be an address that begins with https://' });
const source = z
  .strictObject({
    format: z.enum(FORMATS),
    mapping: z.string().optional(),
    path: z.string().optional(),
    url: url.optional(),
    every,
  })
  .refine((each) => (each.path === undefined) !== (each.url === undefined), 'needs either path or url')
  .refine(
    (each) => (each.format === 'mapping') === (each.mapping !== undefined),
    'mapping goes with the format mapping',
  );
const file = z.record(z.string().refine(isSourceName, SOURCE_RULE), source);

/** Relative paths are relative to the file. Throws `FeedsFileError` that names everything that is wrong. */
export function readFeedsFile(path: string): readonly FeedSource[] {
  let sent: unknown;
  try {
    sent = JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new FeedsFileError(`VIGIE_FEEDS_FILE: ${path}: ${(cause as Error).message}`, { cause });
  }
  const parsed = file.safeParse(sent);
  if (!parsed.success) {
    const faults = parsed.error.issues.map(({ path: at, message }) => `  ${at.join('.')} ${message}`);
    throw new FeedsFileError([`VIGIE_FEEDS_FILE: ${path}:`, ...faults].join('\n'));
  }
  const absolute = (named: string | undefined) => (named === undefined ? null : resolve(dirname(path), named));
  return Object.entries(parsed.data).map(([name, { every: everyMs, format, ...rest }]) => ({
    ...{ name, everyMs, format, url: rest.url ?? null },
    mapping: absolute(rest.mapping),
    path: absolute(rest.path),
  }));
}
