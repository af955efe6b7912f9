/** The dependencies of the administration interface, which are all passed as arguments. */

import type { AskThread } from '../engine/actor/worker-thread.ts';
import type { StreamFigures } from '../engine/broker/topology-inspection.ts';
import type { Activity } from '../engine/domain/activity.ts';
import type { DueDelivery } from '../engine/domain/delivery.ts';
import type { SearchNumber, Uuid } from '../engine/domain/ids.ts';
import type { RetentionDays } from '../engine/domain/retention.ts';
import type { Reference } from '../engine/reference/communes.ts';
import type { Database } from '../engine/store/database.ts';
import type { DeadLetterRead } from '../engine/store/dead-letter-reads.ts';
import type { Requeued } from '../engine/store/resends.ts';

/** The part of pino's interface that the handlers use. */
export type AdminLogger = Readonly<Record<'debug' | 'info' | 'warn' | 'error', WriteLine>>;
type WriteLine = (fields: Readonly<Record<string, unknown>>, message: string) => void;

export interface Adoption {
  readonly refusal: string | null;
  readonly adopted: readonly string[];
}

export interface AdminDependencies {
  readonly database: Database;
  /** Sends a query to a feature's worker thread, which has its own connections. */
  readonly askThread: AskThread;
  /** The data directory, which has the journal of recipients' choices. */
  readonly dataDirectory: () => string;
  readonly version: string;
  readonly retentionDays: RetentionDays;
  readonly reference: Reference;
  readonly logger: AdminLogger;
  readonly now: () => Date;
  /** Empty while NATS cannot be reached. */
  readonly readStreams: () => Promise<readonly Omit<StreamFigures, 'bytesMax'>[]>;
  /**
   * Transfers streams and consumers on NATS from another database to this one, and describes each. A trial changes
   * nothing. While an instance of the other database leads intake, nothing changes, and `refusal` is the reason.
   */
  readonly adoptStreams: (isTrial: boolean) => Promise<Adoption>;
  /** Makes every instance read the pauses and requested rebuilds again. Resolves when this instance has read them. */
  readonly controlsChanged: () => Promise<void>;
  /** Called after a key was revoked or a client changed: notifies all instances. */
  readonly keysChanged: () => void;
  /** True if the index of this instance contains the search; null without an index. */
  readonly isIndexed: (number: SearchNumber) => boolean | null;
  /** Announces due deliveries to the couriers. */
  readonly announceDue: (due: readonly DueDelivery[]) => void;
  /** True if a mail server is configured. */
  readonly isMailAvailable: boolean;
  /** Makes an item of an e-mail due now; null when there is no such item. */
  readonly requeueMail: (id: Uuid) => Promise<Requeued | null>;
  /** Publishes a dead letter's message to the stream again. Within its duplicate window, the stream drops repeats. */
  readonly republish: (letter: DeadLetterRead & { readonly body: Buffer }) => Promise<void>;
  readonly watch: (onActivities: (activities: readonly Activity[]) => void) => Promise<() => void>;
  /** Called at the end of each call, with the name of its status code. */
  readonly onCall: (code: string) => void;
}
