/**
 * The notifications of searches with subscribed events (decisions, section 16). Random histories of adverts and
 * searches are recorded in PostgreSQL, with crashes before a commit and redeliveries after it. A model based only on
 * the values of the adverts checks the result.
 */

import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { createRandom, type Random } from '../../bench/adverts/seeded-random.ts';
import { EVENT_KINDS, type EventKind } from '../../src/engine/domain/codes.ts';
import { randomUuid, type Uuid } from '../../src/engine/domain/ids.ts';
import type { IntakeMessage } from '../../src/engine/domain/intake-message.ts';
import type { Database } from '../../src/engine/store/database.ts';
import { removeNotices } from '../../src/engine/store/match-notices.ts';
import { newMailItems } from '../../src/features/mail/mail-items.ts';
import { expireAt, nextOrigin, resolveToulon, upsertAt } from '../support/adverts.ts';
import { startTestApi } from '../support/api.ts';
import { assertNone } from '../support/lists.ts';
import { openRecording } from '../support/question-scene.ts';
import { runsOf } from '../support/random-runs.ts';
import { lastFirst } from '../support/servers.ts';

const END = 'property.match.end';
const RESUME = 'property.match.resume';

/** A commit that does not reach PostgreSQL, as if the process had died before it. */
class Crash extends Error {}

const cleanup = lastFirst({ after });
/** The contents of e-mails, by search and property. */
const mailed = new Map<string, unknown[]>();
let isCrashing = false;
/** The names of the recorder's statements. */
const statements = new Set<string>();

const api = await startTestApi(cleanup);
const feature = {
  wants: ({ mail }: { readonly mail: unknown }) => mail !== null,
  record: () => [],
  onRecorded: () => undefined,
};
const scene = await openRecording(cleanup, crashing(api.database), resolveToulon, undefined, [
  {
    ...feature,
    record(pairs) {
      for (const { searchNumber, propertyUuid, reason } of isCrashing ? [] : newMailItems(pairs)) {
        const key = `${searchNumber} ${propertyUuid}`;
        mailed.set(key, [...(mailed.get(key) ?? []), [reason.type, reason.kind, reason.oldValue, reason.newValue]]);
      }
      return [];
    },
  },
]);

function crashing(database: Database): Database {
  return {
    query: database.query.bind(database),
    async connect() {
      const client = await database.connect();
      const query = (statement: unknown, ...rest: unknown[]): unknown => {
        const { text = statement, name = '' } = statement as { readonly text?: unknown; readonly name?: string };
        statements.add(name);
        if (isCrashing && text === 'commit') {
          return (client.query as (text: string) => Promise<unknown>)('rollback').then(() => {
            throw new Crash('before the commit');
          });
        }
        return (client.query as (...all: unknown[]) => unknown)(statement, ...rest);
      };
      return new Proxy(client, { get: (target, member) => (member === 'query' ? query : Reflect.get(target, member)) });
    },
  };
}

type Field = 'price' | 'surface';
interface Threshold {
  readonly percent?: number;
  readonly amount?: number;
  readonly direction?: 'down' | 'up';
  readonly since?: 'last' | 'told';
}
type Thresholds = { readonly [F in Field]?: Threshold } | null;

interface Members {
  readonly budgetMax: number | null;
  readonly surfaceMin: number | null;
  readonly notificationEnabled: boolean;
  readonly subscribedEvents: readonly EventKind[];
  readonly eventThresholds: Thresholds;
  readonly notificationRecipient: string | null;
}

const THRESHOLDS: readonly Thresholds[] = [
  null,
  null,
  { price: { percent: 5 } },
  { price: { percent: 5, since: 'told' } },
  { price: { percent: 5, since: 'told' }, surface: { amount: 3, since: 'told' } },
  { price: { amount: 10, since: 'told', direction: 'down' } },
  { price: { direction: 'down' }, surface: { percent: 10 } },
  { price: { percent: 10, amount: 15, since: 'told' } },
  { price: { direction: 'up', since: 'last' }, surface: { amount: 5, direction: 'down', since: 'told' } },
];

function membersOf(random: Random): Members {
  const kinds = EVENT_KINDS.filter(() => random.chance(0.7));
  return {
    budgetMax: random.pick([null, 180, 190, 200, 210]),
    surfaceMin: random.pick([null, null, 46, 50]),
    notificationEnabled: random.chance(0.85),
    subscribedEvents: kinds,
    eventThresholds: random.pick(THRESHOLDS),
    notificationRecipient: random.chance(0.5) ? 'someone@client.example' : null,
  };
}

type AdEvent = readonly [old: string | null, now: string | null, percent: string | null];
type Told = readonly [channel: string, kind: EventKind, ...adEvent: AdEvent];

interface ModelAdvert {
  price: number | null;
  surface: number | null;
  title: string;
  isLive: boolean;
  seen: number;
}

interface ModelEvent {
  readonly kind: EventKind;
  readonly field: Field | 'expired' | null;
  readonly old: number | string | null;
  readonly now: number | string | null;
}

/** The rules of the decisions for one client. An advert is a set of values, a search is its members. */
class Model {
  readonly adverts = new Map<Uuid, Map<Uuid, ModelAdvert>>();
  /** All changes of a price or a surface, in order. */
  readonly values: { readonly advert: Uuid; readonly field: Field; readonly old: number | null }[] = [];
  readonly searches: ModelSearch[] = [];
  at = 0;

  take(message: IntakeMessage): void {
    const { propertyUuid, advertUuid } = message;
    const before = this.standing(propertyUuid);
    const known = this.adverts.get(propertyUuid) ?? new Map<Uuid, ModelAdvert>();
    const former = known.get(advertUuid);
    this.at += 1;
    if (message.kind === 'expire' && former === undefined) return;
    this.adverts.set(propertyUuid, known);
    const events: ModelEvent[] = [];
    const changed: string[] = [];
    if (message.kind === 'expire') {
      if (former?.isLive) events.push({ kind: 'ad.update.expired', field: 'expired', old: 'false', now: 'true' });
      known.set(advertUuid, { ...(former as ModelAdvert), isLive: false });
    } else {
      const { price, surface, title } = message.advert;
      if (former === undefined) events.push({ kind: 'property.ad.create', field: null, old: null, now: null });
      else {
        for (const [field, now] of [
          ['price', price],
          ['surface', surface],
        ] as const) {
          if (former[field] === now) continue;
          changed.push(field);
          events.push({ kind: `ad.update.${field}`, field, old: former[field], now });
        }
        if (former.title !== title) changed.push('title');
        if (!former.isLive) {
          changed.push('expired');
          events.push({ kind: 'ad.update.reactivated', field: 'expired', old: 'true', now: 'false' });
        }
        if (changed.length > 0) events.push({ kind: 'property.ad.update', field: null, old: null, now: null });
      }
      known.set(advertUuid, { price, surface, title: title as string, isLive: true, seen: this.at });
    }
    for (const { field, old } of events) {
      if (field === 'price' || field === 'surface') this.values.push({ advert: advertUuid, field, old: old as number });
    }
    const after = this.standing(propertyUuid);
    for (const search of this.searches) search.take(this, { propertyUuid, advertUuid, before, after, events, changed });
  }

  /** The price and surface of the property; undefined if none of its adverts is live. */
  standing(propertyUuid: Uuid): Standing | undefined {
    const live = [...(this.adverts.get(propertyUuid)?.values() ?? [])].filter(({ isLive }) => isLive);
    return live.toSorted((a, b) => b.seen - a.seen)[0];
  }
}

type Standing = Pick<ModelAdvert, Field>;

interface ModelChange {
  readonly propertyUuid: Uuid;
  readonly advertUuid: Uuid;
  readonly before: Standing | undefined;
  readonly after: Standing | undefined;
  readonly events: readonly ModelEvent[];
  readonly changed: readonly string[];
}

class ModelSearch {
  members: Members;
  readonly id: string;
  readonly told = new Map<Uuid, Told[]>();
  readonly mailed = new Map<Uuid, unknown[]>();
  readonly #begun = new Set<Uuid>();
  /** Matches whose end was notified, without a later return or start. */
  readonly #ended = new Set<Uuid>();
  /** The last notified value, by property, advert and field. */
  readonly #values = new Map<string, number>();
  /** The length of `values` when the search was created, began to notify, or first compared with notified values. */
  #since: number;

  constructor(id: string, members: Members, model: Model) {
    this.id = id;
    this.members = members;
    this.#since = model.values.length;
  }

  static asks(members: Members): boolean {
    return Object.values(members.eventThresholds ?? {}).some(({ since }) => since === 'told');
  }

  change(members: Members, model: Model): void {
    const asked = ModelSearch.asks(members) && !ModelSearch.asks(this.members);
    if (asked) this.#values.clear();
    if (asked || (members.notificationEnabled && !this.members.notificationEnabled)) this.#since = model.values.length;
    this.members = members;
  }

  take(model: Model, { propertyUuid, advertUuid, before, after, events, changed }: ModelChange): void {
    const { notificationEnabled, subscribedEvents } = this.members;
    if (!notificationEnabled) return;
    const [was, is] = [before, after].map((one) => one !== undefined && this.#failing(one) === undefined);
    if (!was && !is) return;
    const isSeen = this.#isReached(model, propertyUuid, advertUuid, events);
    if (is && !was && !this.#begun.has(propertyUuid)) {
      this.#begun.add(propertyUuid);
      const isNew = events.some(({ kind }) => kind === 'property.ad.create');
      this.#tell(propertyUuid, 'match', isNew ? 'property.ad.create' : 'property.ad.update', [null, null, null]);
      for (const [uuid, { isLive, price, surface }] of model.adverts.get(propertyUuid) ?? []) {
        if (!isLive) continue;
        this.#remember(`${propertyUuid} ${uuid} price`, price);
        this.#remember(`${propertyUuid} ${uuid} surface`, surface);
      }
      this.#ended.delete(propertyUuid);
    } else if (is && events.length > 0 && this.#ended.has(propertyUuid) && subscribedEvents.includes(RESUME)) {
      this.#ended.delete(propertyUuid);
      this.#tell(propertyUuid, 'event', RESUME, [null, null, null]);
    }
    const heldBack = events.filter((event) => isSeen.get(event) === null).map(({ field }) => field as string);
    const isHeldBack = heldBack.length > 0 && changed.every((field) => heldBack.includes(field));
    for (const event of events) {
      if (!subscribedEvents.includes(event.kind)) continue;
      const from = isSeen.get(event);
      if (from === null || (event.kind === 'property.ad.update' && isHeldBack)) continue;
      const { kind, field, now } = event;
      const old = from === undefined ? event.old : from;
      this.#tell(propertyUuid, 'event', kind, [textOf(old), textOf(now), percentOf(field, old, now)]);
      if (field === 'price' || field === 'surface')
        this.#remember(`${propertyUuid} ${advertUuid} ${field}`, now as number | null);
    }
    const isByExpiry = events.some(({ kind }) => kind === 'ad.update.expired');
    if (!was || is || before === undefined || after === undefined || events.length === 0 || isByExpiry) return;
    if (!this.told.has(propertyUuid) || !subscribedEvents.includes(END)) return;
    const criterion = this.#failing(after) as string;
    const field = criterion === 'budget' ? 'price' : 'surface';
    this.#tell(propertyUuid, `event ${criterion}`, END, [textOf(before[field]), textOf(after[field]), null]);
    this.#ended.add(propertyUuid);
  }

  /** The first criterion that the property does not satisfy. */
  #failing({ price, surface }: Standing): string | undefined {
    const { budgetMax, surfaceMin } = this.members;
    if (budgetMax !== null && (price === null || price > budgetMax)) return 'budget';
    return surfaceMin !== null && (surface === null || surface < surfaceMin) ? 'surface' : undefined;
  }

  /** The value with which the event is compared: null if the event is held back, undefined without a threshold. */
  #isReached(model: Model, propertyUuid: Uuid, advertUuid: Uuid, events: readonly ModelEvent[]) {
    const compared = new Map<ModelEvent, number | null | undefined>();
    for (const event of events) {
      const { field, old, now } = event as { field: Field; old: number | null; now: number | null };
      const threshold = this.members.eventThresholds?.[field];
      if (threshold === undefined) continue;
      compared.set(event, null);
      if (now === null) continue;
      const first = model.values
        .slice(this.#since)
        .find((one) => one.advert === advertUuid && one.field === field && one.old !== null);
      const told = this.#values.get(`${propertyUuid} ${advertUuid} ${field}`) ?? first?.old ?? old;
      const from = threshold.since === 'told' ? told : old;
      if (from === null) continue;
      const { percent = 0, amount = 0, direction } = threshold;
      const isBigEnough = Math.abs(now - from) >= amount && Math.abs(now - from) * 100 >= percent * from;
      const isItsWay = direction === undefined || (direction === 'down' ? now < from : now > from);
      if (isBigEnough && isItsWay) compared.set(event, from);
    }
    return compared;
  }

  /** An unknown value between two known ones is not remembered. */
  #remember(name: string, value: number | null): void {
    if (value !== null) this.#values.set(name, value);
  }

  #tell(propertyUuid: Uuid, channel: string, kind: EventKind, adEvent: AdEvent): void {
    this.told.set(propertyUuid, [...(this.told.get(propertyUuid) ?? []), [channel, kind, ...adEvent]]);
    if (this.members.notificationRecipient === null) return;
    const [old, now] = adEvent;
    const type = channel.split(' ')[0];
    this.mailed.set(propertyUuid, [...(this.mailed.get(propertyUuid) ?? []), [type, kind, old, now]]);
  }
}

function textOf(value: number | string | null): string | null {
  return value === null ? null : String(value);
}

function percentOf(field: string | null, old: unknown, now: unknown): string | null {
  if (typeof old !== 'number' || typeof now !== 'number' || (field !== 'price' && field !== 'surface')) return null;
  const hundredths = Math.round((Math.abs(now - old) * 10_000) / old);
  return ((now < old ? -hundredths : hundredths) / 100).toFixed(2);
}

const PROPERTIES_MAX = 2;
const ADVERTS_MAX = 3;

/** The crawl times of the messages increase over all histories. */
let minutes = 0;

function messageOf(random: Random, model: Model, adverts: ReadonlyMap<Uuid, readonly Uuid[]>): IntakeMessage {
  const propertyUuid = random.pick([...adverts.keys()]);
  const advertUuid = random.pick(adverts.get(propertyUuid) as readonly Uuid[]);
  minutes += 1;
  if (random.chance(0.12)) return expireAt(minutes, { propertyUuid, advertUuid });
  const former = model.adverts.get(propertyUuid)?.get(advertUuid);
  const { price = 195, surface = 50, title = 'a' } = former ?? {};
  const next = (value: number | null, steps: readonly number[]): number | null =>
    random.chance(0.05) ? null : random.chance(0.6) ? Math.max(20, (value ?? 195) + random.pick(steps)) : value;
  const advert = {
    price: next(price, [-20, -10, -5, -4, -2, -1, 1, 2, 4, 5, 10, 20]),
    surface: next(surface, [-5, -3, -1, 1, 3, 5]),
    title: random.chance(0.1) ? `${title}b` : title,
  };
  return upsertAt(minutes, { propertyUuid, advertUuid, advert });
}

async function record(messages: readonly IntakeMessage[], random: Random): Promise<void> {
  const origins = messages.map(nextOrigin);
  await scene.matcher.refresh();
  if (random.chance(0.15)) {
    isCrashing = true;
    await assert.rejects(scene.recordForKnown(messages, origins), Crash);
    isCrashing = false;
  }
  await scene.recordForKnown(messages, origins);
  if (random.chance(0.15)) await scene.recordForKnown(messages, origins);
}

async function history(seed: number): Promise<void> {
  const random = createRandom(seed);
  const model = new Model();
  const adverts = new Map(
    Array.from({ length: random.integer(1, PROPERTIES_MAX) }, () => [
      randomUuid(),
      Array.from({ length: random.integer(1, ADVERTS_MAX) }, () => randomUuid()),
    ]),
  );
  for (let step = 0; step < 24; step++) {
    if (model.searches.length < 4 && random.chance(0.3)) {
      const members = membersOf(random);
      const body = { title: 't', withCoherentPrice: null, ...members };
      const { status, body: created } = await api.call('POST', '/searches', body);
      assert.equal(status, 201, JSON.stringify(created));
      assert.deepEqual(created.eventThresholds, members.eventThresholds);
      model.searches.push(new ModelSearch(created['@id'], members, model));
    } else if (model.searches.length > 0 && random.chance(0.15)) {
      const search = random.pick(model.searches);
      const [name, value] = random.pick(Object.entries(membersOf(random)));
      const members = { ...search.members, [name]: value };
      assert.equal((await api.call('PUT', search.id, { [name]: value })).status, 200);
      search.change(members, model);
    } else {
      const messages: IntakeMessage[] = [];
      for (let count = random.integer(1, 4); count > 0; count--) {
        const message = messageOf(random, model, adverts);
        messages.push(message);
        model.take(message);
      }
      await record(messages, random);
    }
  }
  await compare(model, seed);
  for (const { id } of model.searches) assert.equal((await api.call('DELETE', id)).status, 204);
}

async function compare({ searches }: Model, seed: number): Promise<void> {
  for (const { id, told, mailed: letters } of searches) {
    const { rows } = await api.database.query<{
      propertyUuid: Uuid;
      number: number;
      sequence: number;
      head: string;
      channel: string;
    }>(
      `select property_uuid as "propertyUuid", f.search_number as number, sequence, head, f.channel
       from feed_items f join searches s on s.number = f.search_number join matches m on m.id = f.match_id
       where s.id = $1 order by f.id`,
      [id.slice('/searches/'.length)],
    );
    const found = new Map<Uuid, Told[]>();
    for (const { propertyUuid, sequence, head, channel } of rows) {
      const { event, adEvent } = JSON.parse(`${head}null}}`);
      const { fieldOldValue = null, fieldNewValue = null, percentVariation = null } = adEvent ?? {};
      const before = found.get(propertyUuid) ?? [];
      const what = event === END ? `${channel} ${adEvent.fieldName}` : channel;
      assert.equal(sequence, before.length + 1, 'an event that is held back has no number');
      found.set(propertyUuid, [...before, [what, event, fieldOldValue, fieldNewValue, percentVariation]]);
    }
    const where = `history ${seed}, search ${id}`;
    assert.deepEqual(Object.fromEntries(found), Object.fromEntries(told), where);
    const [{ number } = { number: 0 }] = rows;
    const sent = [...told.keys()].flatMap((uuid) => {
      const of = mailed.get(`${number} ${uuid}`);
      return of === undefined ? [] : [[uuid, of] as const];
    });
    assert.deepEqual(Object.fromEntries(sent), Object.fromEntries(letters), `e-mails of ${where}`);
  }
}

const ASKED = ['read-notices', 'read-former-values', 'read-members', 'write-notices'];

it('the history of a match needs no statement if no search uses it, and is removed with the match', async () => {
  const [propertyUuid, advertUuid] = [randomUuid(), randomUuid()];
  const price = async (...prices: number[]): Promise<void> => {
    for (const each of prices) {
      minutes += 1;
      await scene.matcher.refresh();
      await scene.recordForKnown([upsertAt(minutes, { propertyUuid, advertUuid, advert: { price: each } })]);
    }
  };
  const create = async (members: object): Promise<string> => {
    const notifying = { title: 't', withCoherentPrice: null, budgetMax: 200, notificationEnabled: true };
    return (await api.call('POST', '/searches', { ...notifying, ...members })).body['@id'];
  };
  const plain = await create({ subscribedEvents: ['ad.update.price'], eventThresholds: { price: { percent: 5 } } });
  statements.clear();
  await price(190, 210, 180);
  assertNone(ASKED.filter((name) => statements.has(name)));
  const noticesOf = async (): Promise<number> =>
    (await api.database.query<{ count: number }>('select count(*)::integer as count from match_notices')).rows[0]
      ?.count ?? -1;
  const left = await noticesOf();
  const thresholds = { price: { percent: 5, since: 'told' } };
  const asking = await create({ subscribedEvents: ['property.match.end'], eventThresholds: thresholds });
  await price(210, 190, 210);
  assert.deepEqual(
    ASKED.filter((name) => statements.has(name)),
    ASKED,
  );
  assert.equal(await noticesOf(), left + 1);
  await removeNotices(api.database, 2_000);
  assert.equal(await noticesOf(), left + 1);
  await api.database.query('delete from matches where property_uuid = $1', [propertyUuid]);
  await removeNotices(api.database, 2_000);
  assert.equal(await noticesOf(), left);
  for (const search of [plain, asking]) await api.call('DELETE', search);
});

it('notifications follow the decisions in random histories with crashes before a commit', async () => {
  const from = Number(process.env.TEST_SEED ?? 1);
  const count = runsOf(300) === 300 ? 300 : 12;
  for (let seed = from; seed < from + count; seed++) await history(seed);
});
