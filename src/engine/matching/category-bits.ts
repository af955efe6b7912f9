/** Categories of sites, a bit each. Operators name some ten, and searches name none but theirs. */

import type { AdvertFacts } from '../domain/property-facts.ts';

/** Adverts whose category is unknown. */
export const UNKNOWN_CATEGORY = 1;

export class CategoryBits {
  readonly #bits = new Map<string, number>();

  /** The bits of all of them, which they keep; null when none is left for one. */
  add(categories: readonly string[]): number | null {
    let all = 0;
    for (const category of categories) {
      const bit = this.#bits.get(category) ?? 2 << this.#bits.size;
      if (bit === 0) return null;
      this.#bits.set(category, bit);
      all |= bit;
    }
    return all;
  }

  /** 0 for one that no search has named. */
  of({ siteCategory }: AdvertFacts): number {
    return siteCategory === null ? UNKNOWN_CATEGORY : (this.#bits.get(siteCategory) ?? 0);
  }

  /** Unknown when that of every advert is. */
  ofAll(adverts: readonly AdvertFacts[]): number {
    const all = adverts.reduce((bits, advert) => bits | this.of(advert), 0);
    return adverts.every(({ siteCategory }) => siteCategory === null) ? all : all & ~UNKNOWN_CATEGORY;
  }
}
