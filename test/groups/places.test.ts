/** The index of searches, communes and points. */

import { runTogether } from '../support/together.ts';

runTogether('places');
