/**
 * Keeps room in `ADVERTS` for new messages: above four fifths of the stream's limit, the leader removes old messages.
 * Messages that are not recorded, or that another consumer or a restored dump may need, are kept. Crawlers are refused
 * only if such messages fill the stream.
 */

import { startTask, type Task } from '../actor/task.ts';
import type { Broker } from '../broker/connection.ts';
import { type Trim, trimStream } from '../broker/stream-position.ts';
import { ADVERTS_STREAM } from '../broker/topology.ts';
import type { Database } from '../store/database.ts';
import { readIntakePosition } from '../store/intake-position.ts';

export interface TrimmingOptions {
  readonly broker: Broker;
  readonly database: Database;
  /** The maximum age of a dump that may be restored, in milliseconds. */
  readonly keptMs: number;
  readonly everyMs?: number;
  /** Called if messages were removed, and when something begins to prevent their removal. */
  readonly onTrim: (trim: Trim) => void;
  readonly onTransientError: (what: string, error: Error) => void;
}

const CHECK_EVERY_MS = 10_000;

export function startTrimming(options: TrimmingOptions): Task {
  const { broker, database, keptMs, everyMs = CHECK_EVERY_MS, onTrim, onTransientError } = options;
  let heldBy: string | null = null;
  async function trim(): Promise<void> {
    const { recorded } = await readIntakePosition(database);
    const trimmed = await trimStream(broker, ADVERTS_STREAM, { upTo: recorded.sequence, keptMs });
    const isNews = trimmed.removed > 0 || (trimmed.heldBy !== null && heldBy === null);
    ({ heldBy } = trimmed);
    if (isNews) onTrim(trimmed);
  }
  return startTask({ what: 'room in the stream of adverts', everyMs, work: trim, onTransientError });
}
