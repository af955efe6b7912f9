/**
 * The owner of a stream or consumer. Two databases that shared one would silently take each other's adverts, so the
 * daemon labels what it creates with its database: as metadata, and below nats-server 2.10 in the description.
 */

import type { ConsumerConfig, StreamConfig } from 'nats';
import { type DatabaseLabel, labelOf, labelText } from '../domain/database-label.ts';
import type { Broker } from './connection.ts';

const KEY = 'vigie-database';
const DESCRIPTION = 'of the Vigie database ';

type Labelled = Pick<Partial<StreamConfig & ConsumerConfig>, 'metadata' | 'description'>;

/** The part of a configuration that names the owner; empty for a command, which has no database. */
export function labelling({ database, serverVersion }: Pick<Broker, 'database' | 'serverVersion'>): Labelled {
  if (database === null) return {};
  const text = labelText(database);
  return knowsMetadata(serverVersion) ? { metadata: { [KEY]: text } } : { description: `${DESCRIPTION}${text}` };
}

/** Null for one that another program has created. */
export function ownerOf({ metadata, description }: Labelled): DatabaseLabel | null {
  const described = description?.startsWith(DESCRIPTION) ? description.slice(DESCRIPTION.length) : undefined;
  return labelOf(metadata?.[KEY] ?? described);
}

function knowsMetadata(version: string): boolean {
  return isAtLeast(version, 2, 10);
}

export function isAtLeast(version: string, major: number, minor: number): boolean {
  const [ofMajor = 0, ofMinor = 0] = version.split('.').map(Number);
  return ofMajor > major || (ofMajor === major && ofMinor >= minor);
}
