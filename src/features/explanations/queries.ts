/**
 * What is asked about many properties or searches. Such queries are answered in a worker thread with its own connections
 * to PostgreSQL: a second of judging holds nobody's event loop, and neither requests nor recording wait for it.
 */

import type { AskThread } from '../../engine/actor/worker-thread.ts';
import type { SearchNumber, Uuid } from '../../engine/domain/ids.ts';
import type { PropertyFacts } from '../../engine/domain/property-facts.ts';
import type { SearchMembers } from '../../engine/domain/search.ts';
import type { FoundOrder, FoundProperties } from './found-properties.ts';
import type { NearMissPlace } from './near-misses.ts';
import type { PreviewFigures } from './preview-figures.ts';

/** A part of a list. */
export interface Part {
  readonly offset: number;
  readonly limit: number;
}

/** Of a client's search. */
interface OfSearch {
  readonly clientId: Uuid;
  readonly searchId: Uuid;
}

export interface NearMiss extends NearMissPlace {
  readonly criterion: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

export interface ListedProperties extends Omit<FoundProperties, 'page'> {
  readonly page: readonly ListedProperty[];
  /** Of the search: contacts are left out of what it finds. */
  readonly hidePropertyContact: boolean;
}

export interface ListedProperty {
  readonly uuid: Uuid;
  readonly satisfiedSince: string;
  /** Null: nothing of the pair was notified. */
  readonly matchId: Uuid | null;
}

/** By the name of the query: what it takes, and its answer. Null: there is no such search. */
export interface QueryKinds {
  readonly preview: {
    readonly asked: {
      readonly members: SearchMembers;
      readonly days: number;
      readonly sampleMax: number;
      readonly placesMax: number;
      readonly now: Date;
    };
    readonly answer: PreviewFigures;
  };
  readonly nearMisses: {
    readonly asked: OfSearch &
      Part & {
        readonly since: Date;
        readonly criterion: string | null;
        /** Those behind this one, in place of those from the offset. */
        readonly after: NearMissPlace | null;
      };
    readonly answer: { readonly misses: readonly NearMiss[]; readonly total: number; readonly hasMore: boolean } | null;
  };
  readonly foundProperties: {
    readonly asked: OfSearch & Part & FoundOrder & { readonly text: string | null };
    readonly answer: ListedProperties | null;
  };
  /** Of a client's searches those that a property satisfies, then those that it fails by one criterion. */
  readonly nearSearches: {
    readonly asked: { readonly clientId: Uuid; readonly facts: PropertyFacts };
    readonly answer: readonly SearchNumber[];
  };
}

export type QueryKind = keyof QueryKinds;

export type Query = {
  [Kind in QueryKind]: { readonly kind: Kind; readonly asked: QueryKinds[Kind]['asked'] };
}[QueryKind];

/**
 * Rejects with what answering throws, with a statement timeout among it; with the signal's reason when it is aborted; with
 * `WorkerLostError`.
 */
export type AskQuery = <Kind extends QueryKind>(
  kind: Kind,
  asked: QueryKinds[Kind]['asked'],
  signal?: AbortSignal,
) => Promise<QueryKinds[Kind]['answer']>;

/** Summaries and texts of ten thousand properties are some ten megabytes, and eight queries run at once. */
const THREAD = { entry: new URL('./query-thread', import.meta.url), heapMaxMb: 512 };

export function queriesOf(askThread: AskThread): AskQuery {
  return ((kind, asked, signal) => askThread(THREAD, { kind, asked }, signal)) as AskQuery;
}
