/** What clients ask of their searches, matches and deliveries. */

import { runTogether } from '../support/together.ts';

runTogether('clients');
