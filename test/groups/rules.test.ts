/** The rules, and what follows from them. */

import { runTogether } from '../support/together.ts';

runTogether('rules');
