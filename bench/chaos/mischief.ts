/**
 * Harmful input during a chaos run, which must not affect anything else. PostgreSQL refuses to store some adverts. A
 * crawler publishes many adverts under one property. A client with a valid key sends the most expensive requests.
 */

import { setTimeout as wait } from 'node:timers/promises';
import type pg from 'pg';
import type { IntakeMessageJson } from '../adverts/sample-adverts.ts';
import type { Random } from '../adverts/seeded-random.ts';
import type { ChaosCrawler } from './crawler.ts';
import type { Instance } from './instances.ts';

/** Maximum adverts of a property for the daemons of a chaos run, low enough for `publishCrowd` to exceed it. */
export const PROPERTY_ADVERTS_MAX = 40;
/** Adverts of a crowded property beyond the limit; each is refused. */
const CROWD_BEYOND = 10;
/** First digits of the UUIDs of the properties made here. The sample crawler's properties have other UUIDs. */
const UNSTORABLE = '00bad000';
const CROWDED = '00c2a0d0';
const OF_ONE_MINUTE = '00e9a1c0';
const MINUTE_PROPERTIES = 6;
const MINUTE_MESSAGES = 30;

/** A message that must be found in the dead letters, with these bytes and this reason. */
export interface Refused {
  readonly message: IntakeMessageJson;
  readonly reason: RegExp;
}

export interface Mischief {
  /** Published messages that no property may show. */
  readonly refused: readonly Refused[];
  /** Answers to the hostile client that indicate a failure of the service itself. */
  readonly brokenAnswers: readonly string[];
  /** Publishes an advert whose property PostgreSQL refuses to store. */
  publishUnstorable(): void;
  /** Publishes more adverts of one property than the limit allows, one after another. */
  publishCrowd(): void;
  /** Publishes price changes and expiries of a few adverts, all with the same `crawledAt`. */
  publishMinute(): void;
  /** Sends two requests at a time to each daemon, until `isOver`. */
  ask(isOver: () => boolean): Promise<void>;
}

export interface MischiefOptions {
  readonly crawler: ChaosCrawler;
  readonly instances: readonly Instance[];
  /** The hostile client's key. */
  readonly apiKey: string;
  readonly random: Random;
}

export function createMischief({ crawler, instances, apiKey, random }: MischiefOptions): Mischief {
  const refused: Refused[] = [];
  const brokenAnswers: string[] = [];
  const bodies = hostileBodies();
  let made = 0;
  let minutes = 0;
  const begun = new Set<string>();

  function refuse(message: IntakeMessageJson, reason: RegExp): void {
    refused.push({ message, reason });
    crawler.publish(message);
  }

  async function pester(instance: Instance, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const { daemon } = instance;
      const [method, path, body] = random.pick(bodies);
      if (daemon === null) await wait(200);
      else await request(`${daemon.apiUrl}${path}`, method, body);
    }
  }

  async function request(url: string, method: string, body: string | null): Promise<void> {
    try {
      const headers = { 'X-API-KEY': apiKey, 'Content-Type': 'application/json' };
      const response = await fetch(url, { method, headers, body, signal: AbortSignal.timeout(10_000) });
      await response.arrayBuffer();
      // 503 is the right answer while PostgreSQL is unavailable.
      if (response.status >= 500 && response.status !== 503) brokenAnswers.push(`${method} ${url}: ${response.status}`);
    } catch {
      // The daemon is down or frozen, or answers too late.
      await wait(100);
    }
  }

  return {
    refused,
    brokenAnswers,
    publishUnstorable() {
      made += 1;
      refuse(advertOf(`${UNSTORABLE}-0000-4000-8000-${serial(made)}`, made), /^could not be recorded: /);
    },
    publishCrowd() {
      made += 1;
      const property = `${CROWDED}-0000-4000-8000-${serial(made)}`;
      for (let number = 0; number < PROPERTY_ADVERTS_MAX + CROWD_BEYOND; number++) {
        const message = advertOf(property, number);
        if (number < PROPERTY_ADVERTS_MAX) crawler.publishKept(message);
        else refuse(message, new RegExp(`\\b${PROPERTY_ADVERTS_MAX}\\b`));
      }
    },
    publishMinute() {
      minutes += 1;
      for (let number = 0; number < MINUTE_MESSAGES; number++) {
        const property = `${OF_ONE_MINUTE}-0000-4000-8000-${serial(random.integer(1, MINUTE_PROPERTIES))}`;
        const message = advertOf(property, minutes);
        const { uuid } = advertOf(property, 0).advert;
        // A repeated expiry of an unseen advert cannot be recognised (src/README.md, Decisions).
        const isExpiry = random.chance(0.2) && begun.has(property);
        begun.add(property);
        const advert = isExpiry ? { uuid } : { ...message.advert, uuid, price: random.pick([240_000, 250_000]) };
        const kind = 'price' in advert ? 'upsert' : 'expire';
        crawler.publishKept({ ...message, kind, advert } as IntakeMessageJson);
      }
    },
    async ask(isOver) {
      await Promise.all([...instances, ...instances].map((instance) => pester(instance, isOver)));
    },
  };
}

/** Adds a trigger that Vigie does not know: to the recorder, its exception looks like a bug of Vigie. */
export async function refuseUnstorable(database: Pick<pg.Pool, 'query'>): Promise<void> {
  await database.query(`
    create function refuse_unstorable() returns trigger language plpgsql as $$
      begin
        raise exception 'this property cannot be stored' using errcode = 'data_exception';
      end $$`);
  await database.query(`
    create trigger refuse_unstorable before insert or update on properties
      for each row when (new.uuid::text like '${UNSTORABLE}%') execute function refuse_unstorable()`);
}

/** The differences between the dead letters and the refused messages; empty if each message is there exactly once. */
export async function auditRefused(
  database: Pick<pg.Pool, 'query'>,
  refused: readonly Refused[],
): Promise<readonly string[]> {
  const { rows } = await database.query<{ body: Buffer; reason: string }>('select body, reason from dead_letters');
  const found = new Map<string, string[]>();
  for (const { body, reason } of rows) {
    const bytes = body.toString();
    found.set(bytes, [...(found.get(bytes) ?? []), reason]);
  }
  const faults = refused.flatMap(({ message, reason }) => {
    const bytes = JSON.stringify(message);
    const reasons = found.get(bytes) ?? [];
    found.delete(bytes);
    if (reasons.length === 1 && reason.test(reasons[0] as string)) return [];
    return [`a refused message is ${reasons.length} times in the dead letters (${reasons.join('; ')}): ${bytes}`];
  });
  return [...faults, ...[...found].map(([bytes, [reason]]) => `an unexpected dead letter (${reason}): ${bytes}`)];
}

function serial(number: number): string {
  return number.toString(16).padStart(12, '0');
}

/** Has neither location nor transaction type, so it satisfies only the search without criteria. */
function advertOf(property: string, number: number): IntakeMessageJson {
  const message = {
    kind: 'upsert',
    crawledAt: new Date(Date.parse('2026-03-10T08:00:00Z') + number * 1_000).toISOString(),
    property: { uuid: property },
    advert: { uuid: `${property.slice(0, 9)}a${property.slice(10, 24)}${serial(number)}`, title: `Annonce ${number}` },
  };
  return message as unknown as IntakeMessageJson;
}

/** Each fits into the mebibyte that a body may have. */
function hostileBodies(): readonly (readonly [method: string, path: string, body: string | null])[] {
  const members = Object.fromEntries(Array.from({ length: 50_000 }, (_, number) => [`budgetMaxx${number}`, 1]));
  const cities = { title: 'x', includedCities: Array.from({ length: 60_000 }, (_, number) => `/cities/${number}`) };
  const ring = Array.from({ length: 20_000 }, (_, number) => [2 + Math.sin(number), 48 + Math.cos(number)]);
  const words = Array.from({ length: 15_000 }, (_, number) => ({ word: `mot${number}`, includes: false }));
  const nested = `{"title":"x","geoShapes":${'['.repeat(400_000)}${']'.repeat(400_000)}}`;
  return [
    ['POST', '/searches', JSON.stringify(members)],
    ['POST', '/searches', JSON.stringify(cities)],
    ['POST', '/searches', JSON.stringify({ title: 'x', geoShapes: [[...ring, ring[0]]] })],
    ['POST', '/searches', JSON.stringify({ title: 'x', expressions: words })],
    [
      'POST',
      '/searches',
      JSON.stringify({ title: 'x', expressions: `expressions[0][0][word]=${'é'.repeat(500_000)}` }),
    ],
    ['POST', '/searches', nested],
    ['GET', `/searches?${'title=%25&'.repeat(1_000)}`, null],
    ['GET', '/indicators/points_of_interest?lat=48.85&lon=2.35&radius=50', null],
  ];
}
