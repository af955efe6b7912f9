/** Services in the process of the test, and what they keep and say. */

import { runTogether } from '../support/together.ts';

runTogether('services');
