/**
 * The interface of a feature: an object of optional members, listed in `features.ts`. Without the feature's folder
 * and its entry in that list, everything else compiles and works.
 */

import type Router from '@koa/router';
import type { Input } from './cli/command.ts';
import type { Config } from './config.ts';
import type { Broker } from './engine/broker/connection.ts';
import type { PauseGate } from './engine/broker/pause-gate.ts';
import type { Uuid } from './engine/domain/ids.ts';
import type { RetentionHorizons } from './engine/domain/retention.ts';
import type { PairFeature } from './engine/intake/alerts.ts';
import type { Database, Queryable } from './engine/store/database.ts';
import type { Requeued } from './engine/store/resends.ts';
import type { Batches } from './engine/store/retention.ts';
import type { EstimateMatches } from './engine/store/searches.ts';
import type { Rpcs } from './grpc/call.ts';
import type { Metrics } from './metrics.ts';
import type { ApiDependencies, KeepChoice } from './rest/dependencies.ts';
import type { QueryLimiter } from './rest/limits.ts';
import type { Contract } from './rest/route.ts';
import type { Parts } from './roles/parts.ts';

export type { Parts };

/** A background task that runs with the stage `deliver`. */
export interface FeatureTask {
  /** Number of attempts in progress. */
  readonly inFlight?: number;
  /** Starts no further work. Resolves when the current work is recorded, or after a time limit. */
  drain(): Promise<void>;
}

/** Publishes the changes in a file of adverts. Resolves with the number of adverts, in total and by kind of change. */
export type PublishAdverts = (
  path: string,
  where: {
    readonly database: Database;
    readonly broker: Broker;
    readonly stopping: AbortSignal;
    readonly onAdvert: () => void;
  },
) => Promise<Readonly<Record<'adverts' | 'new' | 'changed' | 'gone', number>>>;

export interface Feature {
  readonly name: string;
  /** Records the feature's rows with each batch of changes; null if the configuration disables this. */
  readonly record?: (parts: Parts) => PairFeature | null;
  /** Adds metrics that are read at each scrape by Prometheus. Every instance reports the same values. */
  readonly measure?: (metrics: Metrics, database: Database) => void;
  /** Called by retention. Removes rows that are no longer needed. */
  readonly forget?: (database: Database, horizons: RetentionHorizons) => Batches;
  readonly contract?: Contract;
  readonly routes?: (router: Router, dependencies: ApiDependencies, limiter: QueryLimiter) => void;
  /** The feature's methods in the operators' gRPC interface. Without the feature they answer UNIMPLEMENTED. */
  readonly rpcs?: Rpcs;
  /** Estimates the matches of a search. Without this function, the estimate is 0. */
  readonly estimate?: (database: Queryable) => () => Promise<EstimateMatches>;
  /** Resends, for an operator, a delivery that is not a webhook; null if the feature has no such delivery. */
  readonly requeue?: (database: Database, id: Uuid) => Promise<Requeued | null>;
  /** For `vigie doctor`: resolves with the reason why the feature's own server cannot be used, or with null. */
  readonly checkServer?: (config: Config) => Promise<string | null>;
  /** Returns the function that keeps a recipient's choice in a file, for a restored database. */
  readonly keepChoice?: (parts: Parts) => KeepChoice;
  /** Called before any role opens. Throws if the service must not start. */
  readonly prepare?: (parts: Parts) => Promise<void>;
  /** Opens the role with the name of the feature. Throws if its settings are invalid. */
  readonly open?: (parts: Parts) => Promise<void>;
  /** By the words of the command (cli/commands.ts). */
  readonly commands?: Readonly<Record<string, (input: Input) => Promise<void>>>;
  /** For the demonstration. Throws `UsageError` for an unknown format. */
  readonly openAdverts?: (format: string, mapping: string) => Promise<PublishAdverts>;
  /** Starts a task that pauses while `gate` is closed; null if the configuration disables it. */
  readonly start?: (parts: Parts, gate: PauseGate) => FeatureTask | null;
}
