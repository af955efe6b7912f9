/** Tests of clients' requests about their searches, matches and deliveries. */

import { runTogether } from '../support/together.ts';

runTogether('clients');
