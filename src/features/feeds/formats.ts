/** The formats by name; what of them needs a mapping reads it first. */

import { readFile, stat } from 'node:fs/promises';
import { type FeedFormat, SnapshotRefusedError } from './feed-row.ts';
import { readMapped } from './mapped-files.ts';
import { parseMapping } from './mapping.ts';
import { readPoliris } from './poliris.ts';

export const FORMATS = ['poliris', 'mapping'] as const;
export type FormatName = (typeof FORMATS)[number];

const MAPPING_BYTES_MAX = 1_024 * 1_024;

/** `mapping`: the path of its file, for the format of that name. Throws `SnapshotRefusedError` for one that cannot work. */
export async function openFormat(name: FormatName, mapping: string | null, source: string): Promise<FeedFormat> {
  if (name === 'poliris') return (bytes) => readPoliris(bytes, source);
  if (mapping === null)
    throw new SnapshotRefusedError('the format mapping needs the file that says where everything is');
  const { size } = await stat(mapping);
  if (size > MAPPING_BYTES_MAX) throw new SnapshotRefusedError(`${mapping} has more than ${MAPPING_BYTES_MAX} bytes`);
  const parsed = parseMapping(await readFile(mapping, 'utf8'), mapping);
  return (bytes) => readMapped(bytes, parsed);
}

const SOURCE_NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const SOURCE_LENGTH_MAX = 64;
export const SOURCE_RULE = `a source is named by lower-case letters, digits and hyphens between them, at most ${SOURCE_LENGTH_MAX}`;

export function isSourceName(name: string): boolean {
  return name.length <= SOURCE_LENGTH_MAX && SOURCE_NAME.test(name);
}
