/** The administration interface's dependencies; everything is an argument. */

import type { AskThread } from '../engine/actor/worker-thread.ts';
import type { Activity } from '../engine/domain/activity.ts';
import type { DueDelivery } from '../engine/domain/delivery.ts';
import type { SearchNumber, Uuid } from '../engine/domain/ids.ts';
import type { RetentionDays } from '../engine/domain/retention.ts';
import type { Reference } from '../engine/reference/communes.ts';
import type { Database } from '../engine/store/database.ts';
import type { DeadLetterRead } from '../engine/store/dead-letter-reads.ts';
import type { Requeued } from '../engine/store/resends.ts';

/** Pino's shape. */
export interface AdminLogger {
  debug(fields: Readonly<Record<string, unknown>>, message: string): void;
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** One JetStream stream, with the progress of its consumers. */
export interface StreamStatus {
  readonly name: string;
  readonly messages: number;
  readonly bytes: number;
  readonly consumers: number;
  readonly pending: number;
  readonly ackPending: number;
}

export interface Adoption {
  readonly refusal: string | null;
  readonly adopted: readonly string[];
}

export interface AdminDependencies {
  readonly database: Database;
  /** Sends a query to a feature's worker thread, which has connections of its own. */
  readonly askThread: AskThread;
  /** Where choices of recipients are written beside the data. */
  readonly dataDirectory: () => string;
  readonly version: string;
  readonly retentionDays: RetentionDays;
  readonly reference: Reference;
  readonly logger: AdminLogger;
  readonly now: () => Date;
  /** None while NATS cannot be reached. */
  readonly readStreams: () => Promise<readonly StreamStatus[]>;
  /**
   * Transfers another database's streams and consumers on NATS to this one: a sentence each. Changes nothing in a
   * trial, or while the other one takes adverts in, which `refusal` reports.
   */
  readonly adoptStreams: (isTrial: boolean) => Promise<Adoption>;
  /** Call it after a control was written: every instance reads the controls; resolves when this one has done so. */
  readonly controlsChanged: () => Promise<void>;
  /** Called after a key was revoked or a client changed: notifies every instance. */
  readonly keysChanged: () => void;
  /** Whether the index of this instance holds the search; null without an index. */
  readonly isIndexed: (number: SearchNumber) => boolean | null;
  /** Announces due deliveries to the couriers. */
  readonly announceDue: (due: readonly DueDelivery[]) => void;
  /** Whether there is a mail server. */
  readonly isMailAvailable: boolean;
  /** Makes an item of an e-mail due now; null when there is none. */
  readonly requeueMail: (id: Uuid) => Promise<Requeued | null>;
  /** Publishes a message to the stream again, once however often it is requested. */
  readonly republish: (letter: DeadLetterRead & { readonly body: Buffer }) => Promise<void>;
  /** Whether an error of these is only a transient error of NATS. */
  readonly isBrokerOutage: (error: unknown) => boolean;
  readonly watch: (onActivities: (activities: readonly Activity[]) => void) => Promise<() => void>;
  /** Called for every call that ended, with the name of its code. */
  readonly onCall: (code: string) => void;
}
