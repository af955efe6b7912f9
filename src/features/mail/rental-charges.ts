/** Decides if a rent includes its charges. Adverts have no member for this, but their texts often state it. */

import type { AdvertContent } from '../../engine/domain/advert.ts';

const INCLUDED =
  /\bcharges (?:locatives )?(?:comprises|incluses)|€(?: ?\/ ?mois| par mois)? ?(?:t\.?)?c\.?c\b|charges included/iu;
const EXCLUDED =
  /\bhors charges|\bcharges (?:locatives )?(?:non comprises|en sus)|€(?: ?\/ ?mois| par mois)? ?h\.?c\b|charges not included/iu;

/** Null if the advert states neither or both. */
export function chargesOf({ title, description, features }: AdvertContent): boolean | null {
  const words = [title, description, ...features].join('\n').replace(/[\u00a0\u202f]/g, ' ');
  const isIncluded = INCLUDED.test(words);
  return isIncluded === EXCLUDED.test(words) ? null : isIncluded;
}
