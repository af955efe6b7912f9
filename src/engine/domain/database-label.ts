/** What a database is known by to those that share a NATS with it: streams and consumers say whose they are. */

import { parseUuid, type Uuid } from './ids.ts';

export interface DatabaseLabel {
  /** Made with the schema; a database that was restored from a dump has that of the original. */
  readonly id: Uuid;
  /** `host:port/name`, for people. */
  readonly address: string;
}

export function labelText({ id, address }: DatabaseLabel): string {
  return `${id} ${address}`;
}

/** Null for a text that is no label. */
export function labelOf(text: string | undefined): DatabaseLabel | null {
  const [, head, address] = /^(\S{36}) (.+)$/.exec(text ?? '') ?? [];
  const id = parseUuid(head ?? '');
  return id === null || address === undefined ? null : { id, address };
}
