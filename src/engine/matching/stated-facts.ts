/**
 * What a property and those of its adverts that a search considers state, as exact checks compare it. Read when the
 * first search asks: of most values none does.
 */

import { type FeaturePresence, presenceOf } from '../domain/feature-criteria.ts';
import type { AdvertFacts, PropertyFacts } from '../domain/property-facts.ts';
import { needsKnownBy, needsMetBy } from './needs.ts';
import { RANGES } from './records/layout.ts';
import { setsStated } from './records/value-sets.ts';

export class StatedFacts {
  readonly facts: PropertyFacts;
  readonly adverts: readonly AdvertFacts[];
  /** Their codes, 0 for one that no search names; one an advert. */
  readonly siteCategories: readonly number[];
  /** Needs of searches that are not met. */
  readonly lacking: number;
  #denied: number | null = null;
  #sets: number | null = null;
  #features: FeaturePresence | null = null;
  readonly #ranges: (readonly number[] | undefined)[] = [];

  constructor(facts: PropertyFacts, adverts: readonly AdvertFacts[], siteCategories: readonly number[]) {
    this.facts = facts;
    this.adverts = adverts;
    this.siteCategories = siteCategories;
    this.lacking = ~needsMetBy(facts, adverts);
  }

  /** Needs that are not met though their value is known. */
  get denied(): number {
    this.#denied ??= this.lacking & needsKnownBy(this.facts, this.adverts);
    return this.#denied;
  }

  /** See `value-sets`. */
  get sets(): number {
    this.#sets ??= setsStated(this.facts, this.adverts);
    return this.#sets;
  }

  get features(): FeaturePresence {
    this.#features ??= presenceOf(this.adverts);
    return this.#features;
  }

  /** The known values of that one of `RANGES`. */
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
