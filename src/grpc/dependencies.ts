/** What the administration interface needs from the rest of the program; everything is an argument. */

import type { AskThread } from '../engine/actor/worker-thread.ts';
import type { Activity } from '../engine/domain/activity.ts';
import type { ResolvePlace } from '../engine/domain/city.ts';
import type { DueDelivery } from '../engine/domain/delivery.ts';
import type { SearchNumber, Uuid } from '../engine/domain/ids.ts';
import type { RetentionDays } from '../engine/domain/retention.ts';
import type { Database } from '../engine/store/database.ts';
import type { DeadLetterRead } from '../engine/store/dead-letter-reads.ts';
import type { Requeued } from '../engine/store/resends.ts';

/** Pino's shape. */
export interface AdminLogger {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
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
  /** Asks a thread of a feature, which has connections of its own. */
  readonly askThread: AskThread;
  readonly version: string;
  readonly retentionDays: RetentionDays;
  readonly resolvePlace: ResolvePlace;
  readonly logger: AdminLogger;
  readonly now: () => Date;
  /** None while NATS cannot be reached. */
  readonly readStreams: () => Promise<readonly StreamStatus[]>;
  /**
   * Makes what another database made on NATS this one's: a sentence each. Changes nothing in a trial, and while the other
   * one takes adverts in, which `refusal` says.
   */
  readonly adoptStreams: (isTrial: boolean) => Promise<Adoption>;
  /** Told after a control was written: every instance looks at them; resolves when this one has acted. */
  readonly controlsChanged: () => Promise<void>;
  /** Called after a key was revoked or a client changed: notifies every instance. */
  readonly keysChanged: () => void;
  /** Whether the index of this instance holds the search; null without an index. */
  readonly isIndexed: (number: SearchNumber) => boolean | null;
  /** Puts deliveries into the stream, whatever was published of them before. */
  readonly announceDue: (due: readonly DueDelivery[]) => void;
  /** Makes an item of an e-mail due now; null when there is none. */
  readonly requeueMail: (id: Uuid) => Promise<Requeued | null>;
  /** Puts a message back into the stream, once however often it is asked. */
  readonly republish: (letter: DeadLetterRead & { readonly body: Buffer }) => Promise<void>;
  /** Whether a failure of these is only a transient error of NATS. */
  readonly isBrokerOutage: (error: unknown) => boolean;
  readonly watch: (onActivities: (activities: readonly Activity[]) => void) => Promise<() => void>;
  /** Told of every call that ended, with the name of its code, and of every final delivery that was resent. */
  readonly onCall: (code: string) => void;
  readonly onResent: (count: number) => void;
}
