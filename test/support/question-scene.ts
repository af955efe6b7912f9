/** Properties as the recorder writes them, and random searches that match some of them. */

import { createSampleCrawler } from '../../bench/adverts/sample-adverts.ts';
import type { Random } from '../../bench/adverts/seeded-random.ts';
import { ALTERNATIVE_CRITERIA } from '../../src/engine/domain/alternatives.ts';
import type { MessageOrigin, StoredProperty } from '../../src/engine/domain/change.ts';
import type { ResolvePlace } from '../../src/engine/domain/city.ts';
import type { Uuid } from '../../src/engine/domain/ids.ts';
import { decodeIntakeMessage, type IntakeMessage } from '../../src/engine/domain/intake-message.ts';
import type { Medians } from '../../src/engine/domain/market-prices.ts';
import { propertyFacts, readingOf } from '../../src/engine/domain/property-document.ts';
import type { AdvertFacts, PropertyFacts } from '../../src/engine/domain/property-facts.ts';
import { type PropertySummary, summaryOf } from '../../src/engine/domain/property-summary.ts';
import { criteriaOf, SEARCH_DEFAULTS, type SearchMembers } from '../../src/engine/domain/search.ts';
import type { PairFeature } from '../../src/engine/intake/alerts.ts';
import { type Matcher, startMatcher } from '../../src/engine/intake/matcher.ts';
import { createRecorder, type Recorder } from '../../src/engine/intake/recorder.ts';
import { followPoints } from '../../src/engine/maintenance/followed-points.ts';
import type { Reference } from '../../src/engine/reference/communes.ts';
import type { Database } from '../../src/engine/store/database.ts';
import { computeMedians, followMedians } from '../../src/engine/store/market-medians.ts';
import { type StoredRow, storedPropertyOf } from '../../src/engine/store/properties.ts';
import { changedSince } from '../../src/engine/store/search-feed.ts';
import { listSiteCategories } from '../../src/engine/store/site-categories.ts';
import { nextOrigin } from './adverts.ts';
import type { Cleanup } from './servers.ts';
import { quietSupervisor } from './supervisor.ts';

const BOUNDS = { advertsMax: 200, bytesMax: 8_388_608, batchBytesMax: 16_777_216, waitingMax: 64 };
const LETTER = { stream: 'ADVERTS', sequence: 1, subject: 'adverts', headers: {}, bytes: Buffer.from('x') };
const BATCH = 100;

export interface RecordingScene {
  readonly matcher: Matcher;
  /** Computes the medians that all later evaluations use. */
  computeMedians(): Promise<Medians>;
  /** Records for all existing searches. */
  record(messages: readonly IntakeMessage[]): Promise<void>;
  /** Records for the searches that the matcher knows. The matcher reads others when it next polls, as in a daemon. */
  recordForKnown(messages: readonly IntakeMessage[], origins?: readonly MessageOrigin[]): Promise<void>;
}

/** A recorder and its matcher, without a stream. */
export async function openRecording(
  cleanup: Cleanup,
  database: Database,
  resolvePlace: ResolvePlace,
  clock: () => Date = () => new Date(),
  features: readonly PairFeature[] = [],
): Promise<RecordingScene> {
  const medians = followMedians(database);
  const points = followPoints(database);
  const matcher = await startMatcher({
    clock,
    changedSince: (horizon, onSearch) => changedSince(database, horizon, onSearch),
    async readSiteCategoryNames() {
      const names = new Map((await listSiteCategories(database)).map(({ id, name }) => [id, name]));
      return (id) => names.get(id) ?? null;
    },
    supervisor: quietSupervisor(),
    onUnreadableSearch: (_, error) => {
      throw error;
    },
  });
  cleanup.after(() => matcher.stop());
  const recordBatch: Recorder = createRecorder({
    database,
    matcher,
    medians: () => medians.current,
    nearest: () => points.current,
    resolvePlace,
    bounds: BOUNDS,
    clock,
    features,
  });
  async function recordForKnown(messages: readonly IntakeMessage[], origins = messages.map(nextOrigin)): Promise<void> {
    for (let from = 0; from < messages.length; from += BATCH) {
      const batch = messages.slice(from, from + BATCH);
      await recordBatch(
        '0/00000001',
        batch.map((message, at) => {
          const origin = origins[from + at] as MessageOrigin;
          return { message, origin, bytes: 1_000, traceparent: null, letter: LETTER };
        }),
        [],
      );
    }
  }
  return {
    matcher,
    async computeMedians() {
      await computeMedians(database);
      return medians.renew();
    },
    async record(messages) {
      await matcher.refresh();
      await points.renew(matcher.combinations);
      await recordForKnown(messages);
    },
    recordForKnown,
  };
}

/** The messages of `count` new adverts and `count` changes, from `startAt` on. */
export function sampleMessages(seed: number, reference: Reference, count: number, startAt: Date): IntakeMessage[] {
  const crawler = createSampleCrawler({ seed, reference, startAt });
  const created = Array.from({ length: count }, () => crawler.newAdvert());
  const changed = Array.from({ length: count }, () => crawler.change());
  return [...created, ...changed].map((message) => decodeIntakeMessage(Buffer.from(JSON.stringify(message))));
}

export interface KnownProperty {
  readonly uuid: Uuid;
  readonly stored: StoredProperty;
  readonly facts: PropertyFacts;
  readonly summary: PropertySummary;
}

/** Every stored property, with its facts and its summary. */
export async function knownProperties(
  database: Database,
  resolvePlace: ResolvePlace,
  medians: Medians,
): Promise<readonly KnownProperty[]> {
  const { rows } = await database.query<StoredRow>('select state, crawls from properties order by uuid');
  return rows.map((row) => {
    const stored = storedPropertyOf(row);
    const reading = readingOf(stored.state, stored.crawls, resolvePlace);
    return {
      uuid: stored.state.uuid,
      stored,
      facts: propertyFacts(reading, medians),
      summary: summaryOf(reading, stored.crawls),
    };
  });
}

const WORDS = ['balcon', 'jardin', 'lumineux', 'garage', 'vue mer', 'ascenseur', 'rénové', 'calme', 'terrasse'];

const publishersOf = ({ publisherName, agency }: AdvertFacts): string[] =>
  [publisherName, agency].filter((name) => name !== null);

/** A random search. One in four has alternatives: criteria of other random searches that it does not set. */
export function randomMembers(random: Random, properties: readonly KnownProperty[], categories: number): SearchMembers {
  const members = ownMembers(random, properties, categories);
  if (!random.chance(0.25)) return members;
  const criteria = criteriaOf(members, String);
  const free = ALTERNATIVE_CRITERIA.filter((row) => !row.isSet(criteria)).flatMap((row) => Object.keys(row.members));
  const alternatives = Array.from({ length: random.integer(1, 3) }, () => {
    const wanted = ownMembers(random, properties, categories);
    return Object.fromEntries(Object.entries(wanted).filter(([name]) => free.includes(name)));
  });
  return { ...members, alternatives };
}

/** A search for homes similar to one of the properties; each criterion is set with a probability of its own. */
function ownMembers(random: Random, properties: readonly KnownProperty[], categories: number): SearchMembers {
  const { facts } = random.pick(properties);
  const now = (probability: number): boolean => random.chance(probability);
  const about = (value: number | null, spread: number): number =>
    Math.round((value ?? 100) * (1 + spread * random.normal()));
  const place = facts.lat !== null && facts.lon !== null && now(0.4);
  const [lat, lon] = [facts.lat ?? 0, facts.lon ?? 0];
  const square = [
    [lon - 0.3, lat - 0.2],
    [lon + 0.3, lat - 0.2],
    [lon + 0.2, lat + 0.3],
    [lon - 0.3, lat - 0.2],
  ] as const;
  const publishers = facts.adverts.flatMap(publishersOf);
  const category = (): number[] => [random.integer(1, categories)];
  return {
    ...SEARCH_DEFAULTS,
    title: 'seeded',
    transactionType: now(0.6) ? facts.transactionType : null,
    propertyTypes: now(0.5) && facts.propertyType !== null ? [facts.propertyType, random.integer(0, 6)] : null,
    publisherTypes: now(0.15) ? random.integer(0, 1) : null,
    budgetMin: now(0.2) ? Math.max(0, about(facts.price, 0.3)) : null,
    budgetMax: now(0.5) ? Math.max(0, about(facts.price, 0.2)) : null,
    advertPriceMax: now(0.1) ? Math.max(0, about(facts.price, 0.2)) : null,
    pricePerMeterMax: now(0.1) ? Math.max(0, about(facts.pricePerMeter, 0.2)) : null,
    surfaceMin: now(0.4) ? Math.max(0, about(facts.surface, 0.2)) : null,
    landSurfaceMin: now(0.05) ? about(facts.landSurface, 0.2) : null,
    roomMin: now(0.3) ? facts.room : null,
    bedroomMin: now(0.1) ? facts.bedroom : null,
    furnished: now(0.05) ? random.chance(0.5) : null,
    withCoherentPrice: now(0.5),
    withVirtualTour: now(0.05) ? true : null,
    ...(place ? { lat: String(lat), lon: String(lon), radius: String(random.integer(5, 300)) } : {}),
    includedInseeCodes: now(0.15) ? facts.inseeCodes : [],
    includedDepartments: now(0.3) && facts.departmentCode !== null ? [facts.departmentCode] : [],
    includedZipcodes: now(0.1) ? facts.zipcodes : [],
    excludedCities: now(0.1) ? random.pick(properties).facts.inseeCodes : [],
    excludedDepartments: now(0.05) ? [random.pick(properties).facts.departmentCode ?? '01'] : [],
    excludedZipcodes: now(0.1) ? facts.zipcodes : [],
    excludedInseeCodes: now(0.05) ? facts.inseeCodes : [],
    excludedGeoShapes: now(0.1) && facts.lat !== null ? [[square]] : [],
    geoShapes: now(0.1) && facts.lat !== null ? [[square]] : [],
    includedSiteCategories: now(0.1) ? category() : [],
    excludedSiteCategories: now(0.15) ? category() : [],
    includedPublishers: now(0.05) ? publishers : [],
    excludedPublishers: now(0.1) ? random.pick(properties).facts.adverts.flatMap(publishersOf) : [],
    marketDifferenceMax: now(0.15) ? random.integer(-60, 60) : null,
    expressions: now(0.25)
      ? `expressions[0][0][word]=${encodeURIComponent(random.pick(WORDS))}&expressions[0][0][options][includes]=${now(0.7)}`
      : null,
  };
}
