/**
 * Names on NATS. Installations that share a NATS share only `ADVERTS` and `REJECTED` on it: their other streams, their
 * consumers and their subjects are named after their namespace.
 */

import { parseUuid, type Uuid } from './ids.ts';

/** Characters that are valid in names of streams and consumers and in subjects, and in the file names of servers. */
const NAMESPACE = /^(?=.{1,32}$)[a-z0-9]+(?:-[a-z0-9]+)*$/;

/** The displayed name of the installation without a namespace. */
export const NO_NAMESPACE = 'default';

export function isNamespace(text: string): boolean {
  return NAMESPACE.test(text);
}

/** The names of one installation on NATS. */
export interface BrokerNames {
  /** Its durable consumer of `ADVERTS`. */
  readonly intakeConsumer: string;
  /** Its stream of deliveries that wait for their hour, and the first token of that stream's subjects. */
  readonly retriesStream: string;
  readonly retries: string;
  /** The first token of the subjects that its instances share. */
  readonly signals: string;
}

/** `namespace`: null for the only installation on its NATS. */
export function brokerNames(namespace: string | null): BrokerNames {
  const ending = namespace === null ? '' : `-${namespace}`;
  return {
    intakeConsumer: `intake${ending}`,
    retriesStream: `RETRIES${ending}`,
    retries: `retries${ending}`,
    signals: `vigie${ending}`,
  };
}

/** Identifies a database on a shared NATS: it names the owner of streams and consumers. */
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
