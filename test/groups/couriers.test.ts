/** Couriers in the process of the test. */

import { runTogether } from '../support/together.ts';

runTogether('couriers');
