/** Matches at the place of the map that was clicked, where there are several; null: none was. */

import { observable } from './observable.ts';
import type { Pin } from './pins.ts';

export const nearby = observable<readonly Pin[] | null>(null);
