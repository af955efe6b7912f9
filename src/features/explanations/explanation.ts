/**
 * Why a property is a match of a search, or is not: the present evaluation, and what was recorded; the same for clients
 * and operators.
 */

import type { HeldProperty } from '../../engine/domain/change.ts';
import type { ResolvePlace } from '../../engine/domain/city.ts';
import { type Judgement, judge } from '../../engine/domain/criteria.ts';
import type { SearchNumber, Uuid } from '../../engine/domain/ids.ts';
import { isLive } from '../../engine/domain/property.ts';
import { type PropertyReading, propertyFacts, readingOf } from '../../engine/domain/property-document.ts';
import type { PropertyFacts } from '../../engine/domain/property-facts.ts';
import { factsOf, type MedianOf, summaryOf } from '../../engine/domain/property-summary.ts';
import { horizonsOf, type RetentionDays } from '../../engine/domain/retention.ts';
import { criteriaOf, type SiteCategoryName } from '../../engine/domain/search.ts';
import type { Queryable } from '../../engine/store/database.ts';
import { type AdminDelivery, listPairDeliveries } from '../../engine/store/delivery-admin.ts';
import { siteCategoryNames } from '../../engine/store/site-categories.ts';
import { type PairReason, pairReasons, type SearchVersion } from './pair-history.ts';
import {
  type PairRow,
  type RecordedProperty,
  type RecordedVersion,
  readPair,
  readPausedOnes,
  readPropertyHistory,
  readSearchHistory,
} from './pair-rows.ts';

/** The resources of an explanation. */
export interface Explaining {
  readonly database: Queryable;
  readonly resolvePlace: ResolvePlace;
  readonly medians: () => Promise<MedianOf>;
  readonly retentionDays: RetentionDays;
  readonly now: () => Date;
}

/** A property, and what all explanations of it share. */
export interface Subject {
  readonly held: HeldProperty;
  readonly reading: PropertyReading;
  readonly facts: PropertyFacts;
  readonly median: MedianOf;
  readonly siteCategoryName: SiteCategoryName;
  readonly recorded: RecordedProperty;
}

export async function subjectOf(held: HeldProperty, { database, resolvePlace, medians }: Explaining): Promise<Subject> {
  const reading = readingOf(held.state, held.crawls, resolvePlace);
  const median = await medians();
  const siteCategoryName = await siteCategoryNames(database);
  const recorded = await readPropertyHistory(database, held.state.uuid);
  return { held, reading, facts: propertyFacts(reading, median), median, siteCategoryName, recorded };
}

export interface Explanation {
  readonly searchId: Uuid;
  readonly searchTitle: string;
  readonly judgements: readonly Judgement[];
  readonly match: PairRow | null;
  /** Newest first. */
  readonly deliveries: readonly AdminDelivery[];
  readonly reasons: readonly PairReason[];
}

/** Null when the search does not exist any more. */
export async function explainPair(
  number: SearchNumber,
  subject: Subject,
  { database, retentionDays, now }: Explaining,
): Promise<Explanation | null> {
  const { held, facts, siteCategoryName } = subject;
  const search = await readSearchHistory(database, number);
  if (search === null) return null;
  const { members } = search.versions.at(-1) as RecordedVersion;
  const judgements = judge(criteriaOf(members, siteCategoryName), facts);
  const match = await readPair(database, number, held.state.uuid);
  const deliveries = match === null ? [] : (await listPairDeliveries(database, number, match)).toReversed();
  const paused = await readPausedOnes(database, deliveries);
  const kept = horizonsOf(retentionDays, now());
  const reasons = pairReasons({
    ...pastOf(subject, kept.events),
    ...search,
    judgements,
    match,
    versions: search.versions.map((version) => versionOf(version, siteCategoryName)),
    deliveries: deliveries.map(({ id, state }) => ({ state, isPaused: paused.has(id) })),
    areDeliveriesKept:
      match === null || deliveries.length > 0 || kept.deliveries === null || match.updatedAt >= kept.deliveries,
  });
  return { searchId: search.id, searchTitle: members.title, judgements, match, deliveries, reasons };
}

function pastOf({ held, reading, facts, median, recorded }: Subject, horizon: Date | null) {
  const [advert, ...others] = held.state.adverts;
  const live = held.state.adverts.filter(isLive);
  const isWhole = recorded.messages.some(({ at }) => at <= recorded.heldSince);
  const byAdvert = new Map(live.map(({ uuid }, i) => [uuid, facts.adverts[i]?.texts ?? []]));
  const texts = { own: facts.texts, byAdvert };
  return {
    ...recorded,
    keptSince: isWhole ? null : (recorded.readSince ?? horizon),
    summary: summaryOf(reading, held.crawls),
    factsOf: (summary: Parameters<typeof factsOf>[0]) => factsOf(summary, median, texts),
    hasSeveralAdverts: others.length > 0,
    isRetraceable: others.length === 0 && advert?.property.price === null && advert.property.surface === null,
  };
}

function versionOf({ version, from, members }: RecordedVersion, siteCategoryName: SiteCategoryName): SearchVersion {
  return {
    version,
    from,
    criteria: criteriaOf(members, siteCategoryName),
    isNotifying: members.notificationEnabled,
    hasMatchEndpoint: members.endpointRecipient !== null,
    hasEventEndpoint: members.eventEndpoint !== null,
  };
}
