/**
 * Centres of the arrondissements of Paris, Lyon and Marseille, which the package of coordinates does not have: where
 * their inhabited middle lies, set by hand to a hundred metres. Adverts that state coordinates alone find their
 * arrondissement by them, until more precise centres are imported.
 */

import type { Centre } from './commune-centres.ts';

/** Latitude and longitude of the 1st arrondissement, the 2nd and so on, by the INSEE code before the first. */
const CENTRES: Readonly<Record<string, string>> = {
  75100: `48.863 2.336, 48.868 2.343, 48.863 2.360, 48.855 2.357, 48.845 2.350, 48.849 2.333, 48.856 2.312,
    48.873 2.312, 48.877 2.337, 48.876 2.361, 48.859 2.380, 48.838 2.395, 48.829 2.362, 48.829 2.327, 48.840 2.293,
    48.860 2.266, 48.887 2.307, 48.892 2.348, 48.887 2.385, 48.864 2.401`,
  69380: `45.770 4.830, 45.749 4.827, 45.754 4.869, 45.779 4.826, 45.757 4.803, 45.773 4.852, 45.733 4.838,
    45.734 4.869, 45.782 4.806`,
  13200: `43.299 5.384, 43.308 5.366, 43.312 5.380, 43.307 5.400, 43.293 5.398, 43.286 5.381, 43.283 5.359,
    43.252 5.380, 43.238 5.437, 43.276 5.424, 43.288 5.481, 43.305 5.441, 43.346 5.432, 43.343 5.393, 43.355 5.365,
    43.365 5.317`,
};

/** By INSEE code. */
export const ARRONDISSEMENT_CENTRES: ReadonlyMap<string, Centre> = new Map(
  Object.entries(CENTRES).flatMap(([before, centres]) =>
    centres.split(',').map((text, i) => [String(Number(before) + i + 1), centreOf(text)] as const),
  ),
);

/**
 * Points of large places beside their centre, which would lie nearer to another commune: the Bois de Vincennes is half
 * of the 12th arrondissement of Paris, and nearer to Saint-Mandé.
 */
export const OUTLYING_PARTS: ReadonlyMap<string, Centre> = new Map([['75112', { lat: 48.833, lon: 2.418 }]]);

function centreOf(text: string): Centre {
  const [lat, lon] = text.trim().split(' ').map(Number) as [number, number];
  return { lat, lon };
}
