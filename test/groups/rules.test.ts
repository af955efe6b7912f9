/** Tests of the domain's rules and their consequences. */

import { runTogether } from '../support/together.ts';

runTogether('rules');
