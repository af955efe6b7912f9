/** Tests of the journey of an advert through services that run in the test's process. */

import { runTogether } from '../support/together.ts';

runTogether('journeys');
