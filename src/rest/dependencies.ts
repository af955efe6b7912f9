/** What the API needs from the rest of the program. Everything is an argument, so that each part can be tested apart. */

import type { Socket } from 'node:net';
import type { AskThread } from '../engine/actor/worker-thread.ts';
import type { AttemptOutcome, DueDelivery } from '../engine/domain/delivery.ts';
import type { Uuid } from '../engine/domain/ids.ts';
import type { MailLanguage } from '../engine/domain/mail.ts';
import type { RetentionDays } from '../engine/domain/retention.ts';
import type { SearchLimits } from '../engine/domain/search-limits.ts';
import type { PointIndex } from '../engine/matching/points/poi-index.ts';
import type { Reference } from '../engine/reference/communes.ts';
import type { Database } from '../engine/store/database.ts';
import type { EstimateMatches } from '../engine/store/searches.ts';
import type { EndpointRules } from './endpoint-url.ts';
import type { RateLimit } from './rate-limit.ts';
import type { StreetMap } from './street-map.ts';

/** Pino's shape, and a line whose members are JSON already. */
export interface ApiLogger {
  infoJson(members: string): void;
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** What the console's page is made with (decisions, section 14). */
export interface ConsoleSettings {
  /** Pictures of adverts are shown, not linked. */
  readonly showsPictures: boolean;
  /** With `{z}`, `{x}` and `{y}`; null: outlines alone. */
  readonly tilesUrl: string | null;
  readonly tilesAttribution: string;
  /** Drawn by the page itself; null without `VIGIE_MAP_FILE`. */
  readonly streets: StreetMap | null;
}

export interface ApiSettings extends EndpointRules {
  /** Where clients reach the API, for absolute links; null: the protocol and host of the request. */
  readonly publicUrl: string | null;
  /** Per API key, unless its client has its own; of requests that write nothing, and of those that do. */
  readonly readLimit: RateLimit;
  readonly writeLimit: RateLimit;
  /** Connections of `database`. */
  readonly databaseConnectionsMax: number;
  /** Per client, unless it has its own. */
  readonly searchLimits: SearchLimits;
  /** There is a mail server. */
  readonly isMailAvailable: boolean;
  /** Of clients, at once. */
  readonly connectionsMax: number;
  /** Deliveries are kept so long once final; 0: for ever. */
  readonly deliveriesKeptDays: number;
  readonly mailLanguage: MailLanguage;
  /** Null leaves the console out. */
  readonly console: ConsoleSettings | null;
  readonly version: string;
}

export interface SingleDelivery {
  readonly id: Uuid;
  readonly endpoint: string;
  readonly body: string;
  /** `whsec_` and the key in base64. */
  readonly token: string;
  /** Further secrets that sign it, in the same form. */
  readonly secrets: readonly string[];
  /** JSON; null when there is none. */
  readonly context: string | null;
  readonly startedAt: Date;
}

/** One signed attempt without retry; the real sender's `send`. Never rejects for anything an endpoint does. */
export type DeliverOnce = (delivery: SingleDelivery) => Promise<AttemptOutcome>;

export interface ApiDependencies {
  readonly database: Database;
  /** For what is asked without a key, keys themselves and unsubscribe links: a connection of its own, `database` without it. */
  readonly strangersDatabase?: Database;
  /** Told of each request whose key is good; false: the client has too many connections. */
  readonly onAuthenticated?: (socket: Socket, clientId: Uuid) => boolean;
  /** For single explanations: connections of their own, whose statements are given up after a while. */
  readonly queryDatabase?: Database;
  /** Asks a thread of a feature, which has connections of its own. */
  readonly askThread: AskThread;
  /** What explanations may have forgotten; for ever without it. */
  readonly retentionDays?: RetentionDays;
  /** Without it no search is thought to match anything. */
  readonly prepareEstimate?: (() => Promise<EstimateMatches>) | undefined;
  readonly reference: Reference;
  readonly settings: ApiSettings;
  readonly logger: ApiLogger;
  readonly now: () => Date;
  /** Awaited after each committed write of a search: the matcher has it before the client gets its answer. */
  readonly searchChanged: () => Promise<void>;
  /** Calls the listener when a key or what its client may do has changed; without it that is seen within seconds. */
  readonly onKeyChange?: (listener: () => void) => void;
  /** The present index: another one after each import. Without it no points are known. */
  readonly pointsOfInterest?: () => PointIndex;
  /** Calls the listener when feeds have something new, with whose (null: everybody's); without it that is seen within seconds. */
  readonly onFeed?: (listener: (clientIds: readonly Uuid[] | null) => void) => void;
  /** Aborted when the process begins to end: nobody is kept waiting any more. */
  readonly ending?: AbortSignal;
  /** Gives deliveries that are due a message each. */
  readonly announceDue?: (due: readonly DueDelivery[]) => void;
  /** Called after each committed change of a client's webhook secrets. */
  readonly secretsChanged?: () => void;
  /** Without it the webhook tester answers 503. */
  readonly deliverOnce?: DeliverOnce;
}
