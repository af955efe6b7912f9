/** Services in the process of the test, and the way of an advert through them. */

import { runTogether } from '../support/together.ts';

runTogether('journeys');
