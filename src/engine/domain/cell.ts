/**
 * A cell is one PostgreSQL with its daemons. Every cell takes all adverts and holds some of the clients; cells share the
 * NATS cluster and nothing on it but `ADVERTS` and `REJECTED`. What else they have there is named after them.
 */

import type { Uuid } from './ids.ts';

/** What stands in names of streams and consumers as well as in subjects, whichever server keeps them in files. */
const CELL_NAME = /^(?=.{1,32}$)[a-z0-9]+(?:-[a-z0-9]+)*$/;

/** Of the cell that has no name, where it has to be called something. */
export const UNNAMED_CELL = 'default';

export function isCellName(text: string): boolean {
  return CELL_NAME.test(text);
}

/** What a cell has on NATS for itself. */
export interface CellNames {
  /** Null: the only cell, or the first. */
  readonly cell: string | null;
  /** Its durable consumer of `ADVERTS`. */
  readonly intakeConsumer: string;
  /** Its stream of deliveries that wait for their hour, and the first token of that stream's subjects. */
  readonly retriesStream: string;
  readonly retries: string;
  /** The first token of the subjects that its instances share. */
  readonly signals: string;
}

export function cellNames(cell: string | null): CellNames {
  const ending = cell === null ? '' : `-${cell}`;
  return {
    cell,
    intakeConsumer: `intake${ending}`,
    retriesStream: `RETRIES${ending}`,
    retries: `retries${ending}`,
    signals: `vigie${ending}`,
  };
}

/** How a key begins, by which proxies find its cell: the prefix that logs show too. */
export function keyMark(prefix: string): string {
  return `vigie_${prefix}`;
}

const LINK_DIGITS = 12;

/** The same of links in e-mails; it says nothing of the recipient, and opens nothing without the token behind it. */
export function linkMark(clientId: Uuid): string {
  // The end of a UUID is random, whichever version it is.
  return `unsubscribe_${clientId.slice(-LINK_DIGITS)}`;
}

/** Where a link to unsubscribe leads, below the public URL. */
export function unsubscribePath(clientId: Uuid, token: string): string {
  return `/unsubscribe/${clientId.slice(-LINK_DIGITS)}.${token}`;
}
