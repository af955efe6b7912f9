/**
 * Names used on NATS. Installations that share a NATS server share only the streams `ADVERTS` and `REJECTED`. The names
 * of their other streams, of their consumers of `ADVERTS` and of their subjects contain their namespace, if any.
 */

import { parseUuid, type Uuid } from './ids.ts';

/** Allows only what is valid in names of streams and consumers, in subjects, and in servers' file names. */
const NAMESPACE = /^(?=.{1,32}$)[a-z0-9]+(?:-[a-z0-9]+)*$/;

/** Displayed instead of a namespace if the installation has none. */
export const NO_NAMESPACE = 'default';

export function isNamespace(text: string): boolean {
  return NAMESPACE.test(text);
}

export interface BrokerNames {
  /** Durable consumer of `ADVERTS`. */
  readonly intakeConsumer: string;
  /** Stream of deliveries that wait for their retry; `retries`: the first token of its subjects. */
  readonly retriesStream: string;
  readonly retries: string;
  /** First token of the subjects by which the instances of the installation notify one another. */
  readonly signals: string;
}

/** `namespace`: null if the installation has none. At most one installation on a NATS server may have none. */
export function brokerNames(namespace: string | null): BrokerNames {
  const ending = namespace === null ? '' : `-${namespace}`;
  return {
    intakeConsumer: `intake${ending}`,
    retriesStream: `RETRIES${ending}`,
    retries: `retries${ending}`,
    signals: `vigie${ending}`,
  };
}

/** Identifies the database that owns streams and consumers on a shared NATS server. */
export interface DatabaseLabel {
  /** Created with the schema. A database restored from a dump has the id of the original. */
  readonly id: Uuid;
  /** `host:port/name`, for display. */
  readonly address: string;
}

export function labelText({ id, address }: DatabaseLabel): string {
  return `${id} ${address}`;
}

/** Null if the text is not a label. */
export function labelOf(text: string | undefined): DatabaseLabel | null {
  const [, head, address] = /^(\S{36}) (.+)$/.exec(text ?? '') ?? [];
  const id = parseUuid(head ?? '');
  return id === null || address === undefined ? null : { id, address };
}
