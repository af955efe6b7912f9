/** Represents site categories as bits. Operators define about ten categories, and searches can name only these. */

import type { AdvertFacts } from '../domain/property-facts.ts';

/** The bit of adverts whose category is unknown. */
export const UNKNOWN_CATEGORY = 1;

export class CategoryBits {
  readonly #bits = new Map<string, number>();

  /** Returns the bits of the categories; null if there are not enough bits. A category keeps its bit for ever. */
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

  /** The bit of the advert's category; 0 if no search has named it. */
  of({ siteCategory }: AdvertFacts): number {
    return siteCategory === null ? UNKNOWN_CATEGORY : (this.#bits.get(siteCategory) ?? 0);
  }

  /** The bits of all adverts. `UNKNOWN_CATEGORY` is included only if no advert states a category. */
  ofAll(adverts: readonly AdvertFacts[]): number {
    const all = adverts.reduce((bits, advert) => bits | this.of(advert), 0);
    return adverts.every(({ siteCategory }) => siteCategory === null) ? all : all & ~UNKNOWN_CATEGORY;
  }
}
