/** The values that the composition root passes to its parts in other files. */

import type { Config } from '../config.ts';
import type { Supervisor } from '../engine/actor/supervisor.ts';
import type { AskThread } from '../engine/actor/worker-thread.ts';
import type { DueAnnouncer } from '../engine/broker/announcements.ts';
import type { Broker } from '../engine/broker/connection.ts';
import type { JetStreamWatch } from '../engine/broker/jetstream-watch.ts';
import type { LeadClaim } from '../engine/broker/lead-claims.ts';
import type { ResolveName } from '../engine/delivery/name-lookups.ts';
import type { ActivityFeed } from '../engine/maintenance/activity.ts';
import type { ClockWatch } from '../engine/maintenance/clock-watch.ts';
import type { FullServers } from '../engine/maintenance/full-servers.ts';
import type { InstanceHeartbeat } from '../engine/maintenance/instance-heartbeat.ts';
import type { TopologyWatch } from '../engine/maintenance/topology-watch.ts';
import type { Reference } from '../engine/reference/communes.ts';
import type { DatabasePool } from '../engine/store/database.ts';
import type { DocumentCache } from '../engine/store/document-cache.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { Observers } from '../observers.ts';
import type { Shutdown } from '../shutdown.ts';
import type { Stalls } from './measures.ts';

/** `shutdown.ts` describes the order in which parts end. */
export interface Parts extends Pick<Shutdown, 'ending' | 'draining' | 'closing'> {
  readonly config: Config;
  /** Throws `DataDirectoryError` if there is no data directory, which is possible with external servers. */
  readonly dataDirectory: () => string;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly database: DatabasePool;
  /** The same database, over connections that requests cannot use. */
  readonly pipelineDatabase: DatabasePool;
  /** Sends a query to a feature's worker thread, which has its own connections. */
  readonly askThread: AskThread;
  readonly broker: Broker;
  readonly announcer: DueAnnouncer;
  readonly documents: DocumentCache;
  /** Resolves the names of endpoints. Any limits apply to the whole process. */
  readonly resolveName: ResolveName;
  readonly reference: Reference;
  readonly feed: ActivityFeed;
  readonly observers: Observers;
  readonly heartbeat: InstanceHeartbeat;
  readonly stalls: Stalls;
  readonly supervisor: Supervisor;
  readonly topology: TopologyWatch;
  readonly jetStream: Pick<JetStreamWatch, 'silentMs' | 'isSilent'>;
  readonly clocks: ClockWatch;
  readonly fullServers: Pick<FullServers, 'isFull' | 'reason'>;
  /** The identity of the database, which distinguishes it from its copies, and its address. */
  readonly databaseLocation: Omit<LeadClaim, 'since'>;
  /** Ends the process. Call this with the reason why the service cannot continue. */
  readonly fail: (reason: string) => void;
  /** Functions that return why this instance is not ready, or null, by name. Each part adds its own when it opens. */
  readonly checks: Record<string, () => string | null>;
  readonly onTransientError: (what: string, error: Error) => void;
  /** Resolves when load balancers have had time to notice the shutdown, so that new connections may be refused. */
  readonly announced: () => Promise<void>;
}
