/** The dependencies of the API. All are arguments, so that each part can be tested separately. */

import type { BlockList, Socket } from 'node:net';
import type { AskThread } from '../engine/actor/worker-thread.ts';
import type { AttemptOutcome, DueDelivery } from '../engine/domain/delivery.ts';
import type { Uuid } from '../engine/domain/ids.ts';
import type { MailLanguage, MailRules, RecipientChoice } from '../engine/domain/mail.ts';
import type { RetentionDays } from '../engine/domain/retention.ts';
import type { SearchLimits } from '../engine/domain/search-limits.ts';
import type { PointIndex } from '../engine/matching/points/poi-index.ts';
import type { Reference } from '../engine/reference/communes.ts';
import type { Database, Queryable } from '../engine/store/database.ts';
import type { ClaimedDelivery } from '../engine/store/delivery-claims.ts';
import type { EstimateMatches } from '../engine/store/searches.ts';

/** The part of pino's interface that the API uses. */
export type ApiLogger = Readonly<Record<'debug' | 'info' | 'warn' | 'error', WriteLine>>;
type WriteLine = (fields: Readonly<Record<string, unknown>>, message: string) => void;

/** Both ports are included. */
interface PortRange {
  readonly from: number;
  readonly to: number;
}

export interface EndpointRules {
  /** True when plain `http` and private hosts are allowed as endpoints, as in the demo. */
  readonly allowPrivateEndpoints: boolean;
  readonly endpointPorts: readonly PortRange[];
}

export interface RateLimit {
  readonly perSecond: number;
  readonly burst: number;
}

/** Settings of the console's page (decisions, section 14). */
export interface ConsoleSettings {
  /** True when pictures of adverts are shown instead of linked. */
  readonly showsPictures: boolean;
  /** With `{z}`, `{x}` and `{y}`; null when the map shows only outlines. */
  readonly tilesUrl: string | null;
  readonly tilesAttribution: string;
}

/** The members have the names of the configuration, so that it can be passed as it is. */
export interface ApiSettings extends EndpointRules, MailRules {
  /** The public URL of the API, for absolute links; when null, they use the protocol and host of the request. */
  readonly publicUrl: string | null;
  /** The proxies whose `X-Forwarded-Proto` and `X-Forwarded-Host` are trusted. */
  readonly proxies: BlockList;
  /** Per API key, unless its client has its own limits; separate for reads and writes. */
  readonly rateLimit: RateLimit;
  readonly writeLimit: RateLimit;
  /** Maximum number of connections of `database`. */
  readonly databaseConnectionsMax: number;
  /** Per client, unless it has its own limits. */
  readonly searchLimits: SearchLimits;
  /** Maximum number of concurrent connections of clients. */
  readonly connectionsMax: number;
  readonly retentionDays: RetentionDays;
  readonly mailLanguage: MailLanguage;
  /** Null when the console is disabled. */
  readonly console: ConsoleSettings | null;
  readonly version: string;
}

export interface SingleDelivery
  extends Pick<ClaimedDelivery, 'id' | 'endpoint' | 'clientId' | 'context' | 'startedAt'> {
  readonly body: string;
  /** `whsec_` and the key in base64. */
  readonly token: string;
  /** Further secrets that sign it, in the same form. */
  readonly secrets: readonly string[];
}

/**
 * Makes one signed attempt through the real sender, without retry. Resolves with null when too many attempts are in
 * progress. Never rejects because of an endpoint.
 */
export type DeliverOnce = (delivery: SingleDelivery) => Promise<AttemptOutcome | null>;

/** Writes a choice to a file that outlives a restore, in its transaction. Resolves when the choice is on disk. */
export type KeepChoice = (client: Queryable, choice: RecipientChoice) => Promise<void>;

export interface ApiDependencies {
  readonly database: Database;
  /** A separate connection for lookups of API keys, and of tokens in unsubscribe links. */
  readonly publicDatabase: Database;
  /** Separate connections for the queries that `QueryLimiter` limits. Their statements have a time limit. */
  readonly queryDatabase: Database;
  /** Sends a query to a feature's worker thread, which has its own connections. */
  readonly askThread: AskThread;
  /** Called for each authenticated request; returns false when the client has too many connections. */
  readonly onAuthenticated: (socket: Socket, clientId: Uuid) => boolean;
  /** True while the disk of PostgreSQL is full: writes are refused. */
  readonly isStoreFull: () => boolean;
  /** When absent, the estimated matches of a search are 0. */
  readonly prepareEstimate?: (() => Promise<EstimateMatches>) | undefined;
  readonly reference: Reference;
  readonly settings: ApiSettings;
  /** When absent, only the database records the choices of recipients. */
  readonly keepChoice?: KeepChoice | undefined;
  readonly logger: ApiLogger;
  readonly now: () => Date;
  /** Awaited after a write of a search. Resolves when this process's matcher, if any, has read it or is too slow. */
  readonly searchChanged: () => Promise<void>;
  /** Calls the listener when a key or a client's limits change. */
  readonly onKeyChange: (listener: () => void) => void;
  /** The current index: each import creates a new one. */
  readonly pointsOfInterest: () => PointIndex;
  /** Calls the listener with the clients whose feeds have new rows (null means all clients). */
  readonly onFeed: (listener: (clientIds: readonly Uuid[] | null) => void) => void;
  /** Aborted when the process begins to end, so that waiting requests are answered. */
  readonly ending: AbortSignal;
  /** Announces due deliveries to the couriers. */
  readonly announceDue: (due: readonly DueDelivery[]) => void;
  /** Called after each committed change of a client's webhook secrets. */
  readonly secretsChanged: () => void;
  readonly deliverOnce: DeliverOnce;
}
