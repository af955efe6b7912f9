/** Tests of couriers that run in the test's process. */

import { runTogether } from '../support/together.ts';

runTogether('couriers');
