/** Tests of the REST interface. */

import { runTogether } from '../support/together.ts';

runTogether('rest');
