/** The label of a database on a shared NATS: it names the owner of streams and consumers. */

import { parseUuid, type Uuid } from './ids.ts';

export interface DatabaseLabel {
  /** Created with the schema; a restored dump has that of the original. */
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
