/**
 * The facts of a property and of those adverts that a search considers, in the form that exact checks compare. Except
 * for `lacking`, values are computed when a check first needs them, because most are never needed.
 */

import { type FeaturePresence, presenceOf } from '../domain/feature-criteria.ts';
import type { AdvertFacts, PropertyFacts } from '../domain/property-facts.ts';
import { INCLUDED_PUBLISHERS } from '../domain/publisher-criteria.ts';
import type { CategoryBits } from './category-bits.ts';
import { needsKnownBy, needsMetBy } from './needs.ts';
import type { PublisherLists } from './publisher-lists.ts';
import { RANGES } from './records/layout.ts';
import { setsStated } from './records/value-sets.ts';

export class StatedFacts {
  readonly facts: PropertyFacts;
  readonly adverts: readonly AdvertFacts[];
  /** The needs that these facts do not meet. */
  readonly lacking: number;
  readonly #categoryBits: CategoryBits;
  #categories: number | null = null;
  #denied: number | null = null;
  #sets: number | null = null;
  #features: FeaturePresence | null = null;
  readonly #ranges: (readonly number[] | undefined)[] = [];
  /** The facts without the adverts of excluded categories, by the bits of these categories. */
  readonly #parts = new Map<number, StatedFacts>();
  /** For each set of publishers (`publisher-lists`), the facts without the adverts by these publishers. */
  readonly #partsWithout: StatedFacts[] = [];
  readonly #isBy: boolean[] = [];
  #isPublisherUnknown: boolean | null = null;

  constructor(facts: PropertyFacts, adverts: readonly AdvertFacts[], categoryBits: CategoryBits) {
    this.facts = facts;
    this.adverts = adverts;
    this.lacking = ~needsMetBy(facts, adverts);
    this.#categoryBits = categoryBits;
  }

  /** The bits of the adverts' site categories. */
  get categories(): number {
    this.#categories ??= this.#categoryBits.ofAll(this.adverts);
    return this.#categories;
  }

  /** The facts without the adverts of the given site categories; this object if there are no such adverts. */
  without(categories: number): StatedFacts {
    const excluded = categories & this.categories;
    if (excluded === 0) return this;
    const known = this.#parts.get(excluded);
    if (known !== undefined) return known;
    const part = this.#part((advert) => (this.#categoryBits.of(advert) & excluded) === 0);
    this.#parts.set(excluded, part);
    return part;
  }

  /** These facts without the adverts by a publisher of the set. */
  withoutPublishers(set: number, lists: PublisherLists): StatedFacts {
    if (set === 0) return this;
    this.#partsWithout[set] ??= this.#part((advert) => !lists.isBy(set, advert));
    return this.#partsWithout[set];
  }

  /** Whether any advert is by a publisher of the set. */
  isBy(set: number, lists: PublisherLists): boolean {
    this.#isBy[set] ??= this.adverts.some((advert) => lists.isBy(set, advert));
    return this.#isBy[set];
  }

  get isPublisherUnknown(): boolean {
    this.#isPublisherUnknown ??= INCLUDED_PUBLISHERS.isUnknown(this);
    return this.#isPublisherUnknown;
  }

  #part(isKept: (advert: AdvertFacts) => boolean): StatedFacts {
    const adverts = this.adverts.filter(isKept);
    const isWhole = adverts.length === this.adverts.length;
    return isWhole ? this : new StatedFacts(this.facts, adverts, this.#categoryBits);
  }

  /** The needs that are not met although the value is known. */
  get denied(): number {
    this.#denied ??= this.lacking & needsKnownBy(this.facts, this.adverts);
    return this.#denied;
  }

  /** The stated values of all `SET_CRITERIA` (`value-sets`). */
  get sets(): number {
    this.#sets ??= setsStated(this.facts, this.adverts);
    return this.#sets;
  }

  get features(): FeaturePresence {
    this.#features ??= presenceOf(this.adverts);
    return this.#features;
  }

  /** The known values for a range. `range` is its position in `RANGES`. */
  valuesOf(range: number): readonly number[] {
    const known = this.#ranges[range];
    if (known !== undefined) return known;
    const { source } = RANGES[range] as (typeof RANGES)[number];
    const all = source.of === 'property' ? [source.read(this.facts)] : this.adverts.map(source.read);
    const values = all.filter((value) => value !== null);
    this.#ranges[range] = values;
    return values;
  }
}
