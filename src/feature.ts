/**
 * The interface of a feature beside the engine: an object of optional functions, named in `features.ts`. Without its
 * folder and that name everything else compiles and works.
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
import type { Unary } from './grpc/call.ts';
import type { AdminServiceServer } from './grpc/generated/vigie/admin/v1/admin.ts';
import type { Metrics } from './metrics.ts';
import type { ApiDependencies, KeepChoice } from './rest/dependencies.ts';
import type { QueryLimiter } from './rest/limits.ts';
import type { Contract } from './rest/route.ts';
import type { Parts } from './roles/parts.ts';

export type { Parts };

/** A background task that runs with the stage `deliver`. */
export interface FeatureTask {
  /** Attempts under way. */
  readonly inFlight?: number;
  /** Starts nothing further; resolves when the work under way is recorded. */
  drain(): Promise<void>;
}

/** Publishes the new adverts of a file; resolves with their number by kind. */
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
  /** Its rows for each batch of changes; null: none, as configured. */
  readonly record?: (parts: Parts) => PairFeature | null;
  /** Adds values that are read at each scrape of Prometheus; every instance reads the same. */
  readonly measure?: (metrics: Metrics, database: Database) => void;
  /** Removes rows that are older than their table keeps them. */
  readonly forget?: (database: Database, horizons: RetentionHorizons) => Batches;
  readonly contract?: Contract;
  readonly routes?: (router: Router, dependencies: ApiDependencies, limiter: QueryLimiter) => void;
  /** Its methods of the operators' interface; other methods are unimplemented. */
  readonly rpcs?: (usual: Unary) => Partial<AdminServiceServer>;
  /** Estimates a search's matches; without it the estimate is 0. */
  readonly estimate?: (database: Queryable) => () => Promise<EstimateMatches>;
  /** An operator's resend of a delivery that is no webhook; null without such a delivery. */
  readonly requeue?: (database: Database, id: Uuid) => Promise<Requeued | null>;
  /** For `vigie doctor`: why the feature's own server cannot be used, in a sentence; null: it can. */
  readonly checkServer?: (config: Config) => Promise<string | null>;
  /** For other features: keeps what a recipient has decided. */
  readonly keepChoice?: (parts: Parts) => KeepChoice;
  /** Before any role opens; throws when the service must not start. */
  readonly prepare?: (parts: Parts) => Promise<void>;
  /** Opens the work of instances with the role of its name; throws when its settings are wrong. */
  readonly open?: (parts: Parts) => Promise<void>;
  /** By the words of a command (cli/commands.ts). */
  readonly commands?: Readonly<Record<string, (input: Input) => Promise<void>>>;
  /** For the demonstration. Throws `UsageError` for an unknown format. */
  readonly openAdverts?: (format: string, mapping: string) => Promise<PublishAdverts>;
  /** Pauses while the gate of the stage is closed; null: nothing to do, as configured. */
  readonly start?: (parts: Parts, gate: PauseGate) => FeatureTask | null;
}
