/**
 * A market that advances in days on a simulated clock, recorded with the daemon's own functions. Adverts appear,
 * change, are seen again and expire; searches are created and deleted; deliveries succeed, fail once or fail for good.
 * Once adverts expire, all days are alike, so that the tables can grow only by rows that are never removed.
 */

import { afterAttempt } from '../../src/engine/domain/delivery.ts';
import { type Uuid, uuidOf } from '../../src/engine/domain/ids.ts';
import type { IntakeMessage } from '../../src/engine/domain/intake-message.ts';
import { NO_MEDIANS } from '../../src/engine/domain/market-prices.ts';
import { SEARCH_DEFAULTS } from '../../src/engine/domain/search.ts';
import { type Matcher, startMatcher } from '../../src/engine/intake/matcher.ts';
import { createRecorder } from '../../src/engine/intake/recorder.ts';
import { recordAttempts, type SettledAttempt } from '../../src/engine/store/attempts.ts';
import type { Database } from '../../src/engine/store/database.ts';
import { type ClaimedDelivery, claimDeliveries } from '../../src/engine/store/delivery-claims.ts';
import { changedSince } from '../../src/engine/store/search-feed.ts';
import { createSearch, deleteSearch } from '../../src/engine/store/searches.ts';
import { digested, nextOrigin, resolveToulon, TOULON, UNKNOWN_CONTENT, UNSTATED_PROPERTY } from './adverts.ts';
import { numberedUuid } from './intake.ts';
import { registerHolder } from './seeded-deliveries.ts';
import type { SimulatedClock } from './simulated-clock.ts';
import { quietSupervisor } from './supervisor.ts';

export interface SimulatedMarketOptions {
  readonly database: Database;
  readonly clock: SimulatedClock;
  /** Owner of the searches. */
  readonly clientId: Uuid;
  /** New properties each day; each has one advert. */
  readonly propertiesPerDay: number;
  /** Days from an advert's first crawl to its expiry; its price changes twice, in the first two days. */
  readonly listedDays: number;
  /** Each new property matches nine of them, or all if there are fewer. */
  readonly searches: number;
  /** URL without a path. */
  readonly endpoint: string;
  /** How many deliveries of the first day stay in the backlog and are never attempted. */
  readonly backloggedOnFirstDay: number;
}

export interface SimulatedMarket {
  readonly searchIds: readonly Uuid[];
  readonly backlogIds: readonly Uuid[];
  /** Runs one day, from morning to evening. */
  live(): Promise<void>;
  /** The property that appeared on `day` (from 0) with number `position` of that day. */
  propertyOf(day: number, position: number): Uuid;
  stop(): Promise<void>;
}

/** The term of leadership of all recordings here, because no daemon leads. */
const FIRST_TERM = '0/00000001';
const RECORD_BATCH = 256;
const HOLDER = 1;
const RETRY_DELAY_MS = 3_600_000;
const PRICE_STEP = 10_000;
const MATCHES_PER_PROPERTY = 9;
const FAILING_ONCE_EACH = 10;
const FAILING_FOR_GOOD_EACH = 50;
/** As long as the description of a real advert. */
const DESCRIPTION = 'Appartement lumineux de trois pièces, proche des commerces et de la rade. '.repeat(16);

const BOUNDS = { advertsMax: 200, bytesMax: 8_388_608, batchBytesMax: 16_777_216, waitingMax: 64 };
const entryOf = (message: IntakeMessage) => ({
  message,
  origin: nextOrigin(),
  bytes: 1_024,
  traceparent: null,
  letter: letterOf(0),
});

/** The database must be migrated. */
export async function startSimulatedMarket(options: SimulatedMarketOptions): Promise<SimulatedMarket> {
  const { database, clock, clientId } = options;
  await registerHolder(database, HOLDER);
  const searchIds: Uuid[] = [];
  for (let number = 0; number < options.searches; number++) {
    searchIds.push((await createSearch(database, clientId, membersOf(options, number))).id);
  }
  const matcher = await startMatcherOf(database, clock);
  const recordBatch = createRecorder({
    database,
    matcher,
    medians: () => NO_MEDIANS,
    resolvePlace: resolveToulon,
    bounds: BOUNDS,
    clock: () => clock.now(),
  });
  const failingForGood = new Set<Uuid>();
  const failingOnce = new Set<Uuid>();
  const backlogIds: Uuid[] = [];
  let day = 0;
  let waiting: Uuid[] = [];
  let passing: Uuid | null = null;

  const propertyOf = (birth: number, position: number): Uuid =>
    numberedUuid('property', birth * options.propertiesPerDay + position);

  async function record(messages: readonly IntakeMessage[]): Promise<readonly Uuid[]> {
    const deliveryIds: Uuid[] = [];
    for (let start = 0; start < messages.length; start += RECORD_BATCH) {
      const entries = messages.slice(start, start + RECORD_BATCH).map(entryOf);
      const { deliveries } = await recordBatch(FIRST_TERM, entries, []);
      deliveryIds.push(...deliveries.map(({ id }) => id));
    }
    return deliveryIds;
  }

  async function attempt(ids: readonly Uuid[]): Promise<void> {
    for (let open = ids; open.length > 0; ) {
      // A held delivery can be claimed when the previous delivery of its match has ended.
      const { claimed } = await claimDeliveries(database, HOLDER, open.slice(0, RECORD_BATCH), clock.now());
      open = open.slice(RECORD_BATCH);
      const settled = claimed.map((delivery) =>
        settle(
          delivery,
          failingForGood.has(delivery.id) || (failingOnce.has(delivery.id) && delivery.attemptCount === 1),
        ),
      );
      const letIn = await recordAttempts(database, settled);
      open = [...open, ...letIn.map(({ id }) => id)];
      waiting.push(...settled.filter(({ after }) => after.state === 'retry_wait').map(({ id }) => id));
    }
  }

  async function changeSearches(): Promise<void> {
    if (passing !== null) await deleteSearch(database, clientId, passing);
    passing = (await createSearch(database, clientId, membersOf(options, 0))).id;
    await matcher.refresh();
  }

  return {
    searchIds,
    backlogIds,
    propertyOf,
    async live() {
      if (day > 0) await clock.advance(0.5);
      // On the first day no search is created or deleted, so that the backlog belongs to searches that remain.
      if (day > 0) await changeSearches();
      const due = waiting;
      waiting = [];
      const created = await record(messagesOf(options, day, clock.now(), propertyOf));
      if (day === 0) backlogIds.push(...created.slice(0, options.backloggedOnFirstDay));
      for (const [position, id] of created.entries()) {
        if (position % FAILING_FOR_GOOD_EACH === 1) failingForGood.add(id);
        else if (position % FAILING_ONCE_EACH === 0) failingOnce.add(id);
      }
      await database.query('update open_deliveries set lane = 2 where id = any($1::uuid[]) and lane = -1', [due]);
      await attempt([...due, ...created.slice(day === 0 ? options.backloggedOnFirstDay : 0)]);
      await recordBatch(FIRST_TERM, [], [letterOf(day)]);
      day += 1;
      await clock.advance(0.5);
    },
    stop: () => matcher.stop(),
  };
}

/** Budgets of nine price steps, each search one step above the previous one. */
function membersOf({ endpoint, searches }: SimulatedMarketOptions, number: number) {
  const step = number % Math.max(1, searches);
  return {
    ...SEARCH_DEFAULTS,
    title: `Toulon ${number}`,
    includedInseeCodes: [TOULON.insee],
    budgetMin: (step + 1) * PRICE_STEP,
    budgetMax: (step + MATCHES_PER_PROPERTY) * PRICE_STEP,
    withCoherentPrice: null,
    notificationEnabled: true,
    endpointRecipient: `${endpoint}/matches/${number % 10}`,
    eventEndpoint: `${endpoint}/events/${number % 10}`,
    subscribedEvents: ['ad.update.price' as const],
  };
}

function startMatcherOf(database: Database, clock: SimulatedClock): Promise<Matcher> {
  return startMatcher({
    clock: () => clock.now(),
    changedSince: (horizon, onSearch) => changedSince(database, horizon, onSearch),
    readSiteCategoryNames: async () => () => null,
    supervisor: quietSupervisor(({ error }) => console.error(error)),
    onUnreadableSearch: (_, error) => console.error(error),
  });
}

function messagesOf(
  { propertiesPerDay, listedDays, searches }: SimulatedMarketOptions,
  day: number,
  now: Date,
  propertyOf: SimulatedMarket['propertyOf'],
): readonly IntakeMessage[] {
  const messages: IntakeMessage[] = [];
  for (let birth = Math.max(0, day - listedDays); birth <= day; birth++) {
    const age = day - birth;
    for (let position = 0; position < propertiesPerDay; position++) {
      const propertyUuid = propertyOf(birth, position);
      const ids = { crawledAt: now.toISOString(), propertyUuid, advertUuid: advertOf(propertyUuid) };
      if (age === listedDays) {
        messages.push(digested({ ...ids, kind: 'expire', expiredAt: null }));
        continue;
      }
      // The price is neither the lowest nor the highest, so that nine searches match every property.
      const step = MATCHES_PER_PROPERTY + (position % Math.max(1, searches - MATCHES_PER_PROPERTY));
      const price = step * PRICE_STEP - 100 * Math.min(age, 2);
      messages.push(
        digested({
          ...ids,
          kind: 'upsert',
          property: {
            ...UNSTATED_PROPERTY,
            transactionType: 0,
            propertyType: 0,
            city: { insee: TOULON.insee, zipcode: null, name: null },
          },
          advert: {
            ...UNKNOWN_CONTENT,
            title: `Appartement ${position}`,
            description: DESCRIPTION,
            price,
            surface: 50,
          },
        }),
      );
    }
  }
  return messages;
}

function advertOf(propertyUuid: Uuid): Uuid {
  return uuidOf(`22222222${propertyUuid.slice(8)}`);
}

function settle(delivery: ClaimedDelivery, fails: boolean): SettledAttempt {
  const { id, searchNumber, matchId, lane, endpointKey, attemptCount, startedAt } = delivery;
  const outcome = {
    startedAt,
    durationMs: 20,
    statusCode: fails ? 500 : 200,
    error: fails ? ('status' as const) : null,
    reason: fails ? 'HTTP 500' : null,
    responseHead: fails ? 'not today' : '',
  };
  return {
    id,
    ...{ searchNumber, matchId, lane, endpointKey, attemptCount, holder: HOLDER },
    outcome,
    after: afterAttempt(attemptCount, outcome, RETRY_DELAY_MS),
    retryInMs: RETRY_DELAY_MS,
  };
}

function letterOf(sequence: number) {
  return {
    stream: 'ADVERTS',
    sequence,
    subject: 'adverts.unknown',
    headers: {},
    bytes: Buffer.from(`nonsense ${sequence}`),
    failedKey: null,
    reason: 'not JSON',
  };
}
