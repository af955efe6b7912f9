/** Tests of services that run in the test's process: what they store and report. */

import { runTogether } from '../support/together.ts';

runTogether('services');
