/** Tests of the search index, of communes and of points of interest. */

import { runTogether } from '../support/together.ts';

runTogether('places');
