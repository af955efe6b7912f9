/** The API's dependencies. Everything is an argument, so that each part can be tested separately. */

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
import type { EstimateMatches } from '../engine/store/searches.ts';

/** Pino's shape. */
export interface ApiLogger {
  debug(fields: Readonly<Record<string, unknown>>, message: string): void;
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** From one port to another, both of them included. */
export interface PortRange {
  readonly from: number;
  readonly to: number;
}

export interface EndpointRules {
  /** True where plain `http` and private hosts may be endpoints, as in the demo. */
  readonly allowPrivateEndpoints: boolean;
  readonly endpointPorts: readonly PortRange[];
}

export interface RateLimit {
  readonly perSecond: number;
  readonly burst: number;
}

/** Settings of the console's page (decisions, section 14). */
export interface ConsoleSettings {
  /** Pictures of adverts are shown, not linked. */
  readonly showsPictures: boolean;
  /** With `{z}`, `{x}` and `{y}`; null: outlines alone. */
  readonly tilesUrl: string | null;
  readonly tilesAttribution: string;
}

export interface ApiSettings extends EndpointRules, MailRules {
  /** The public URL of the API, for absolute links; null: the protocol and host of the request. */
  readonly publicUrl: string | null;
  /** Whose `X-Forwarded-Proto` and `-Host` count. */
  readonly proxies: BlockList;
  /** Per API key, unless its client has its own; for reads, and for writes. */
  readonly readLimit: RateLimit;
  readonly writeLimit: RateLimit;
  /** Connections of `database`. */
  readonly databaseConnectionsMax: number;
  /** Per client, unless it has its own. */
  readonly searchLimits: SearchLimits;
  /** Concurrent connections of clients. */
  readonly connectionsMax: number;
  /** Days for which final deliveries are kept; 0: for ever. */
  readonly deliveriesKeptDays: number;
  readonly mailLanguage: MailLanguage;
  /** Null leaves the console out. */
  readonly console: ConsoleSettings | null;
  readonly version: string;
}

export interface SingleDelivery {
  readonly id: Uuid;
  readonly endpoint: string;
  readonly clientId: Uuid;
  readonly body: string;
  /** `whsec_` and the key in base64. */
  readonly token: string;
  /** Further secrets that sign it, in the same form. */
  readonly secrets: readonly string[];
  /** JSON; null when there is none. */
  readonly context: string | null;
  readonly startedAt: Date;
}

/**
 * One signed attempt without retry; the real sender's `send`. Null: too much is under way for an attempt. Never rejects
 * for anything that an endpoint does.
 */
export type DeliverOnce = (delivery: SingleDelivery) => Promise<AttemptOutcome | null>;

/** Writes a choice beside the data, within the transaction that records it: on disk when it resolves. */
export type KeepChoice = (client: Queryable, choice: RecipientChoice) => Promise<void>;

export interface ApiDependencies {
  readonly database: Database;
  /** For requests without a key, keys themselves and unsubscribe links: its own connection, default `database`. */
  readonly publicDatabase?: Database;
  /** Called for each authenticated request; returns false when the client has too many connections. */
  readonly onAuthenticated?: (socket: Socket, clientId: Uuid) => boolean;
  /** True while PostgreSQL has no room on its disk: writes are refused. */
  readonly isStoreFull?: () => boolean;
  /** For single explanations: connections of their own, whose statements have a time limit. */
  readonly queryDatabase?: Database;
  /** Sends a query to a feature's worker thread, which has connections of its own. */
  readonly askThread: AskThread;
  /** How long the basis of explanations is kept; for ever without it. */
  readonly retentionDays?: RetentionDays;
  /** Without it the estimated matches of a search are 0. */
  readonly prepareEstimate?: (() => Promise<EstimateMatches>) | undefined;
  readonly reference: Reference;
  readonly settings: ApiSettings;
  /** Without it choices of recipients are not written beside the data. */
  readonly keepChoice?: KeepChoice | undefined;
  readonly logger: ApiLogger;
  readonly now: () => Date;
  /** Awaited after each committed write of a search: the matcher knows the search before the client gets its answer. */
  readonly searchChanged: () => Promise<void>;
  /** Calls the listener when a key or a client's limits change; without it a change takes effect within seconds. */
  readonly onKeyChange?: (listener: () => void) => void;
  /** The present index: each import creates another one. Without it no points are known. */
  readonly pointsOfInterest?: () => PointIndex;
  /** Calls the listener when feeds have news, with the clients (null: all); without it polls notice within seconds. */
  readonly onFeed?: (listener: (clientIds: readonly Uuid[] | null) => void) => void;
  /** Aborted when the process begins to end: waiting requests are answered. */
  readonly ending?: AbortSignal;
  /** Announces due deliveries to the couriers. */
  readonly announceDue?: (due: readonly DueDelivery[]) => void;
  /** Called after each committed change of a client's webhook secrets. */
  readonly secretsChanged?: () => void;
  /** Without it the webhook tester answers 503. */
  readonly deliverOnce?: DeliverOnce;
}
