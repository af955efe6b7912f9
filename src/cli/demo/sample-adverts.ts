/**
 * A crawler that never was: realistic French adverts in the intake contract's form (decisions, section 8), and the
 * changes they go through, the same for a seed and reference on every machine. The demo publishes them and the
 * benchmarks measure with them. No call has an effect but on this crawler, and nothing is read from the clock.
 */

import type { Publisher } from '../../engine/domain/advert.ts';
import type { Uuid } from '../../engine/domain/ids.ts';
import type { Reference } from '../../engine/reference/communes.ts';
import {
  type AdvertJson,
  drawHome,
  drawPublisher,
  type PropertyJson,
  pictureUrl,
  publication,
  roundPrice,
} from './sample-homes.ts';
import { createPlaceSampler } from './sample-places.ts';
import { createRandom, type Random } from './seeded-random.ts';

interface UpsertJson {
  readonly kind: 'upsert';
  readonly crawledAt: string;
  readonly property: PropertyJson;
  readonly advert: AdvertJson;
}

interface ExpireJson {
  readonly kind: 'expire';
  readonly crawledAt: string;
  readonly property: { readonly uuid: Uuid };
  readonly advert: { readonly uuid: Uuid };
  readonly expiredAt: string;
}

/** Ready for `JSON.stringify`. */
export type IntakeMessageJson = UpsertJson | ExpireJson;

export const SAMPLE_CHANGES = ['price', 'surface', 'pictures', 'text', 'expiry', 'comeback', 'none'] as const;
type SampleChange = (typeof SAMPLE_CHANGES)[number];

export interface SampleCrawler {
  /** A new advert or, once there are some, a change of one. */
  next(): IntakeMessageJson;
  /** A new advert, one time in six of a property that has one already. */
  newAdvert(): UpsertJson;
  /**
   * A change of an advert published before; `none` is a re-crawl that finds it as it was. An advert that cannot change
   * so (a comeback with none expired, a price never stated) is re-crawled instead; the first of all is a new one.
   */
  change(kind?: SampleChange): IntakeMessageJson;
}

export interface SampleCrawlerOptions {
  readonly seed: number;
  readonly reference: Reference;
  /** When the crawl begins; `crawledAt` grows from here. */
  readonly startAt: Date;
  /** Mean time between two messages by the crawler's clock. Default 250. */
  readonly intervalMs?: number;
  /** Share of changes in `next`. Default 0.4. */
  readonly changeShare?: number;
  /** Adverts that can still change; the oldest is forgotten beyond. Default 20,000, about 40 MB. */
  readonly heldMax?: number;
}

const CHANGES: readonly (readonly [SampleChange, number])[] = [
  ['none', 34],
  ['price', 28],
  ['pictures', 14],
  ['text', 6],
  ['surface', 4],
  ['expiry', 10],
  ['comeback', 4],
];

interface HeldSample {
  readonly property: PropertyJson;
  advert: AdvertJson;
  isExpired: boolean;
}

export function createSampleCrawler(options: SampleCrawlerOptions): SampleCrawler {
  const { reference, intervalMs = 250, changeShare = 0.4, heldMax = 20_000 } = options;
  const random = createRandom(options.seed);
  const samplePlace = createPlaceSampler(reference, random);
  const held: HeldSample[] = [];
  let published = 0;
  let clockMs = options.startAt.getTime();

  function tick(): string {
    clockMs += random.integer(1, 2 * intervalMs - 1);
    return new Date(clockMs).toISOString();
  }

  function newAdvert(): UpsertJson {
    const crawledAt = tick();
    const known = held.length > 0 && random.chance(1 / 6) ? random.pick(held) : null;
    const publisher = drawPublisher(random);
    const sample =
      known === null
        ? { ...drawHome(samplePlace(), publisher, crawledAt, reference, random), isExpired: false }
        : againBy(known, publisher, crawledAt, random);
    held[published++ % heldMax] = sample;
    return upsert(sample, crawledAt);
  }

  function change(kind: SampleChange = random.weighted(CHANGES)): IntakeMessageJson {
    if (held.length === 0) return newAdvert();
    const crawledAt = tick();
    const sample = pickFor(kind, held, random);
    if (kind === 'expiry') {
      sample.isExpired = true;
      const { property, advert } = sample;
      return {
        kind: 'expire',
        crawledAt,
        property: { uuid: property.uuid },
        advert: { uuid: advert.uuid },
        expiredAt: crawledAt,
      };
    }
    sample.isExpired = false;
    sample.advert = changed(sample.advert, kind, crawledAt, random);
    return upsert(sample, crawledAt);
  }

  return { next: () => (random.chance(changeShare) ? change() : newAdvert()), newAdvert, change };
}

function upsert({ property, advert }: HeldSample, crawledAt: string): UpsertJson {
  return { kind: 'upsert', crawledAt, property, advert };
}

/** An expired advert for a comeback, a live one for the rest: the first from a random place on; any when there is none. */
function pickFor(kind: SampleChange, held: readonly HeldSample[], random: Random): HeldSample {
  const start = random.integer(0, held.length - 1);
  for (let i = 0; i < held.length; i++) {
    const sample = held[(start + i) % held.length] as HeldSample;
    if (sample.isExpired === (kind === 'comeback')) return sample;
  }
  return held[start] as HeldSample;
}

function changed(advert: AdvertJson, kind: SampleChange, crawledAt: string, random: Random): AdvertJson {
  const updatedAt = crawledAt;
  if (kind === 'price' && typeof advert.price === 'number') {
    const factor = random.chance(0.85) ? 1 - random.integer(1, 12) / 100 : 1 + random.integer(1, 6) / 100;
    return { ...advert, price: roundPrice(advert.price * factor), updatedAt };
  }
  if (kind === 'surface' && typeof advert.surface === 'number') {
    return { ...advert, surface: Math.max(9, advert.surface + random.pick([-3, -2, -1, 1, 2, 5])), updatedAt };
  }
  if (kind === 'pictures') return { ...advert, pictures: changedPictures(advert.pictures ?? [], random), updatedAt };
  if (kind === 'text') return { ...advert, description: `${advert.description ?? ''} Prix à débattre.`, updatedAt };
  return advert;
}

/** Added, taken away, or in another order with the same count. */
function changedPictures(pictures: readonly string[], random: Random): readonly string[] {
  const last = pictures.at(-1);
  if (last === undefined || random.chance(0.4)) return [...pictures, pictureUrl(random)];
  return random.chance(0.5) ? [last, ...pictures.slice(0, -1)] : pictures.slice(0, -1);
}

/** The same home in another publisher's words, at a slightly different price. */
function againBy({ property, advert }: HeldSample, by: Publisher, crawledAt: string, random: Random): HeldSample {
  const price = typeof advert.price === 'number' ? roundPrice(advert.price * (1 + random.integer(-3, 3) / 100)) : null;
  const title = `${advert.title ?? ''} - ${by.name ?? 'de particulier à particulier'}`;
  return { property, advert: { ...advert, title, price, ...publication(by, crawledAt, random) }, isExpired: false };
}
