/**
 * Random histories of a property and a search. At each step a naive model records when and why the property began to
 * satisfy the search. An explanation derived afterwards from the records alone must agree, or state "not recorded".
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { applyMessage, type StoredProperty } from '../src/engine/domain/change.ts';
import { type Criteria, evaluate, satisfies } from '../src/engine/domain/criteria.ts';
import { NO_MEDIANS } from '../src/engine/domain/market-prices.ts';
import { isLive } from '../src/engine/domain/property.ts';
import { type PropertyReading, propertyFacts, readingOf } from '../src/engine/domain/property-document.ts';
import { factsOf, summaryOf } from '../src/engine/domain/property-summary.ts';
import { criteriaOf, SEARCH_DEFAULTS } from '../src/engine/domain/search.ts';
import {
  type CausingEvent,
  type PairMatch,
  type PairReason,
  pairReasons,
  type RecordedMessage,
  type SearchVersion,
} from '../src/features/explanations/pair-history.ts';
import { ADVERT, expireAt, minute, nextOrigin, OTHER_ADVERT, upsertAt } from './support/adverts.ts';
import { runsOf } from './support/random-runs.ts';

type Requested = Readonly<Record<'budgetMax' | 'surfaceMin' | 'roomMin', number | null>>;

type Step =
  | { readonly kind: 'message'; readonly isOther: boolean; readonly price: number | null; readonly surface: number }
  | { readonly kind: 'room'; readonly room: number | null }
  | { readonly kind: 'pictures'; readonly pictures: readonly string[] }
  | { readonly kind: 'expire' }
  | { readonly kind: 'search'; readonly asked: Requested; readonly isNotifying: boolean };

interface Plan {
  readonly createdBefore: number;
  readonly keptFrom: number;
  readonly asked: Requested;
  readonly isNotifying: boolean;
  readonly hearsPrices: boolean;
  readonly steps: readonly Step[];
}

const asked = fc.record({
  budgetMax: fc.constantFrom(null, 150, 250),
  surfaceMin: fc.constantFrom(null, null, 45),
  roomMin: fc.constantFrom(null, null, 3),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('message' as const),
      isOther: fc.nat({ max: 30 }).map((n) => n === 0),
      price: fc.constantFrom(null, 100, 200, 300),
      surface: fc.constantFrom(40, 40, 40, 50),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('room' as const), room: fc.constantFrom(null, 2, 4) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('pictures' as const), pictures: fc.subarray(['a', 'b', 'c']) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('expire' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('search' as const), asked, isNotifying: fc.boolean() }) },
);

const plan: fc.Arbitrary<Plan> = fc.record({
  createdBefore: fc.nat({ max: 5 }),
  keptFrom: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat({ max: 8 }) }),
  asked,
  isNotifying: fc.boolean(),
  hearsPrices: fc.boolean(),
  steps: fc.array(step, { minLength: 1, maxLength: 14, size: 'max' }),
});

const at = (count: number): Date => new Date(minute(count));

/** The history as it happens, and its records. */
class Model {
  stored: StoredProperty | null = null;
  readonly versions: SearchVersion[] = [];
  readonly messages: RecordedMessage[] = [];
  match: PairMatch | null = null;
  /** When and why the property last began to satisfy the search; null if it does not satisfy it. */
  standing: PairReason | null = null;
  /** `standing` at the time when an event created the match. */
  standingAtEvent: PairReason | null = null;
  readonly returns: number[] = [];
  heldSince: Date | null = null;
  /** The changes of price or surface without which the match would not have begun. */
  decisive: readonly CausingEvent[] = [];
  #said = {
    advert: { price: null as number | null, surface: 40, pictures: [] as readonly string[] },
    room: null as number | null,
  };
  readonly #hearsPrices: boolean;

  constructor(hearsPrices: boolean) {
    this.#hearsPrices = hearsPrices;
  }

  get reading(): PropertyReading {
    const { state, crawls } = this.stored as StoredProperty;
    return readingOf(state, crawls, () => null);
  }

  holds(criteria: Criteria | undefined): boolean {
    if (this.stored === null || criteria === undefined) return false;
    return satisfies(criteria, propertyFacts(this.reading, NO_MEDIANS));
  }

  save(count: number, members: Requested, isNotifying: boolean): void {
    const before = this.versions.at(-1);
    const criteria = criteriaOf({ ...SEARCH_DEFAULTS, title: '', ...members, withCoherentPrice: null }, () => null);
    const stored = this.holds(before?.criteria);
    const version = this.versions.length;
    this.versions.push({
      ...{
        version,
        from: at(count),
        criteria,
        isNotifying,
        hasMatchEndpoint: true,
        hasEventEndpoint: true,
        hasMailRecipient: false,
        subscribedEvents: this.#hearsPrices ? ['ad.update.price'] : [],
      },
    });
    const code = before === undefined ? 'stood-when-created' : 'stood-when-changed';
    if (!this.holds(criteria)) this.standing = null;
    else if (!stored) this.#begin({ code, at: at(count) });
  }

  take(count: number, each: Exclude<Step, { kind: 'search' }>): void {
    const former = this.stored;
    const advertUuid = each.kind === 'message' && each.isOther ? OTHER_ADVERT : ADVERT;
    if (each.kind === 'message') {
      this.#said = { ...this.#said, advert: { ...this.#said.advert, price: each.price, surface: each.surface } };
    }
    if (each.kind === 'room') this.#said = { ...this.#said, room: each.room };
    if (each.kind === 'pictures') {
      this.#said = { ...this.#said, advert: { ...this.#said.advert, pictures: each.pictures } };
    }
    const { advert, room } = this.#said;
    const message =
      each.kind === 'expire' ? expireAt(count) : upsertAt(count, { advertUuid, advert, property: { room } });
    const present = this.versions.at(-1);
    const stood = this.holds(present?.criteria);
    const { stored, events } = applyMessage(former, message, nextOrigin());
    this.stored = stored;
    if (stored === null) return;
    this.heldSince ??= at(count);
    const told = events.map(({ kind, advertUuid: uuid, field }) =>
      field === null
        ? { kind, advert: uuid }
        : { kind, advert: uuid, field: field.fieldName, was: field.fieldOldValue, is: field.fieldNewValue },
    );
    // A crawl without an event is not recorded, although another advert may represent the property afterwards.
    if (told.length > 0) this.messages.unshift({ at: at(count), events: told });
    if (present === undefined) return;
    const stands = this.holds(present.criteria);
    const notified = { endedAt: null, endedBy: null, resumedAt: null };
    const cause = { createdAt: at(count), searchVersion: present.version, cause: told, ...notified };
    if (present.isNotifying && stands && !stood && this.match?.hasBegun !== true) {
      this.match = { ...cause, hasBegun: true, channel: 'match' };
      this.decisive = told.filter((event) => former !== null && !this.#standsWithout(event, present.criteria));
      this.returns.length = 0;
    } else if (
      present.isNotifying &&
      this.match === null &&
      stood &&
      this.#hearsPrices &&
      told.some(({ kind }) => kind === 'ad.update.price')
    ) {
      this.match = { ...cause, hasBegun: false, channel: 'event' };
      this.standingAtEvent = this.standing;
    }
    if (!stands) this.standing = null;
    else if (!stood) this.#begin({ code: 'began-while-silent', at: at(count) });
  }

  #begin(reason: PairReason): void {
    this.standing = reason;
    this.returns.push((reason.at as Date).getTime());
  }

  /** True if the search would be satisfied with the former value of this field. */
  #standsWithout({ field, was }: CausingEvent, criteria: Criteria): boolean {
    if (field !== 'price' && field !== 'surface') return true;
    const { state, crawls } = this.stored as StoredProperty;
    const adverts = state.adverts.map((one) => ({
      ...one,
      content: { ...one.content, [field]: was === null ? null : Number(was) },
    }));
    return satisfies(
      criteria,
      propertyFacts(
        readingOf({ ...state, adverts }, crawls, () => null),
        NO_MEDIANS,
      ),
    );
  }
}

/**
 * The explanation from the records that features/explanations reads: events and changes of the search from `kept` on.
 */
function reasonsOf(model: Model, kept: number): readonly PairReason[] {
  const { stored, reading, messages, match } = model;
  const { state, crawls } = stored as StoredProperty;
  const facts = propertyFacts(reading, NO_MEDIANS);
  const lives = state.adverts.filter(isLive);
  const byAdvert = new Map(lives.map(({ uuid }, i) => [uuid, facts.adverts[i]?.texts ?? []]));
  const heldSince = model.heldSince as Date;
  const left = messages.filter((one) => one.at >= at(kept));
  const isWhole = left.some((one) => one.at <= heldSince);
  const [only, ...others] = state.adverts;
  const first = model.versions.findLastIndex(({ from, version }) => version > 0 && (from as Date) < at(kept));
  const versions = model.versions
    .slice(Math.max(0, first))
    .map((one, i) => (i === 0 && first > 0 ? { ...one, from: null } : one));
  return pairReasons({
    evaluations: evaluate(versions.at(-1)?.criteria as Criteria, facts),
    ...{ match, versions, deletedAt: null, isUnsubscribed: false, messages: left, heldSince },
    keptSince: isWhole ? null : at(kept),
    summary: summaryOf(reading, crawls),
    factsOf: (summary) => factsOf(summary, NO_MEDIANS, { own: facts.texts, byAdvert }),
    hasSeveralAdverts: others.length > 0,
    isRetraceable: others.length === 0 && only?.property.price === null && only.property.surface === null,
    medianMovedAt: null,
    marketMovedAt: null,
    ...{ isCancelled: false, isPaused: false, areDeliveriesKept: true },
  });
}

const BEGINNINGS = ['stood-when-created', 'stood-when-changed', 'began-while-silent'];

/** The statement has the code of `standing`, and its time or none; or it is "not recorded". */
function assertTrue(said: PairReason | undefined, standing: PairReason | null): void {
  if (said?.code === 'not-recorded') return;
  assert.ok(said !== undefined && BEGINNINGS.includes(said.code));
  assert.equal(said.code, standing?.code);
  if (said.at !== null) assert.deepEqual(said.at, standing?.at);
}

function check(model: Model, kept: number, seen: Map<string, number>): void {
  const reasons = reasonsOf(model, kept);
  for (const { code } of reasons) seen.set(code, (seen.get(code) ?? 0) + 1);
  const codes = reasons.map(({ code }) => code);
  const { match, versions } = model;
  const holds = model.holds(versions.at(-1)?.criteria);
  if (match === null) {
    assert.deepEqual(codes.slice(0, 2), [holds ? 'satisfied' : 'unsatisfied', 'not-notified']);
    if (holds) assertTrue(reasons[2], model.standing);
    return;
  }
  assert.equal(codes.includes('left'), !holds);
  assert.deepEqual(reasons[0]?.at, match.createdAt);
  if (!match.hasBegun) {
    assert.equal(codes[0], 'notified-of-event');
    return assertTrue(reasons[1], model.standingAtEvent);
  }
  assert.equal(
    codes[0] === 'began-with-advert',
    match.cause.some(({ kind }) => kind === 'property.ad.create'),
  );
  if (codes[0] === 'began-by-price' || codes[0] === 'began-by-surface') {
    const [decisive, ...more] = model.decisive;
    assert.deepEqual([`began-by-${decisive?.field}`, more], [codes[0], []]);
    assert.deepEqual([reasons[0]?.was, reasons[0]?.is], [decisive?.was, decisive?.is]);
  }
  const back = reasons.find(({ code }) => code === 'came-back');
  // The first one is the beginning of the match itself.
  const hasReturned = holds && model.returns.length > 1;
  if (back !== undefined) assert.ok(hasReturned, 'the match has returned');
  // With several adverts, a crawl without an event may make another one represent the property. Former room counts are
  // not recorded.
  const isRetraced =
    kept === 0 &&
    model.stored?.state.adverts.length === 1 &&
    versions.every(({ criteria }) => criteria.room.min === null);
  if (isRetraced) assert.equal(back !== undefined, hasReturned, 'the records suffice to state it');
  if (back !== undefined && back.at !== null) assert.deepEqual(back.at, model.standing?.at);
}

test('every statement about a pair is true, or states that the fact is not recorded', () => {
  const seen = new Map<string, number>();
  fc.assert(
    fc.property(plan, ({ createdBefore, keptFrom, steps, ...search }) => {
      const model = new Model(search.hearsPrices);
      for (const [position, each] of steps.entries()) {
        if (position === createdBefore) model.save(2 * position, search.asked, search.isNotifying);
        const count = 2 * position + 1;
        if (each.kind !== 'search') model.take(count, each);
        else if (model.versions.length > 0) model.save(count, each.asked, each.isNotifying);
        if (model.stored !== null && model.versions.length > 0) check(model, keptFrom, seen);
      }
    }),
    { numRuns: runsOf(10_000), includeErrorInReport: true },
  );
  for (const code of [
    ...BEGINNINGS,
    'not-recorded',
    'began',
    'began-by-price',
    'began-by-surface',
    'came-back',
    'left',
  ]) {
    assert.ok((seen.get(code) ?? 0) > runsOf(100), `${code}: ${seen.get(code)}`);
  }
});

test('an explanation says that the search does not subscribe to later events of a match', () => {
  for (const hearsPrices of [true, false]) {
    const model = new Model(hearsPrices);
    model.save(0, { budgetMax: null, surfaceMin: null, roomMin: null }, true);
    model.take(1, { kind: 'message', isOther: false, price: 1, surface: 40 });
    const isSaid = () => reasonsOf(model, 0).some(({ code }) => code === 'not-subscribed');
    assert.ok(!isSaid(), 'the match itself was notified');
    model.take(2, { kind: 'message', isOther: false, price: 2, surface: 40 });
    assert.equal(isSaid(), !hearsPrices);
  }
});

test('an explanation of a missing match names a missing subscription only if the search lacks it', () => {
  for (const hearsPrices of [true, false]) {
    const model = new Model(hearsPrices);
    model.save(0, { budgetMax: null, surfaceMin: null, roomMin: null }, true);
    for (const price of [1, 2]) model.take(price, { kind: 'message', isOther: false, price, surface: 40 });
    // As if the price had been incoherent in the market of that time.
    model.match = null;
    assert.equal(
      reasonsOf(model, 0).some(({ code }) => code === 'not-subscribed'),
      !hearsPrices,
    );
  }
});
