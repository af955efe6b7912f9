/**
 * A cell is one PostgreSQL with its daemons. Every cell takes in all adverts and holds some of the clients; cells share
 * the NATS cluster and, on it, only `ADVERTS` and `REJECTED`. Their other streams and subjects are named after them.
 */

import { parseUuid, type Uuid } from './ids.ts';

/** Characters that are valid in names of streams and consumers and in subjects, and in the file names of servers. */
const CELL_NAME = /^(?=.{1,32}$)[a-z0-9]+(?:-[a-z0-9]+)*$/;

/** The displayed name of the cell without a name. */
export const UNNAMED_CELL = 'default';

export function isCellName(text: string): boolean {
  return CELL_NAME.test(text);
}

/** A cell's own names on NATS. */
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

/** The beginning of a key, by which proxies find its cell; logs show it too. */
export function keyMark(prefix: string): string {
  return `vigie_${prefix}`;
}

const LINK_DIGITS = 12;

/** The beginning of links in e-mails: it neither identifies the recipient nor works without the token that follows. */
export function linkMark(clientId: Uuid): string {
  // The end of a UUID is random, whichever version it is.
  return `unsubscribe_${clientId.slice(-LINK_DIGITS)}`;
}

/** Where a link to unsubscribe leads, below the public URL. */
export function unsubscribePath(clientId: Uuid, token: string): string {
  return `/unsubscribe/${clientId.slice(-LINK_DIGITS)}.${token}`;
}

/** Of a database on a shared NATS: it names the owner of streams and consumers. */
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
