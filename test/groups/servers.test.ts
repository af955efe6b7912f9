/** Tests of our own servers and clients, and of what they transfer. */

import { runTogether } from '../support/together.ts';

runTogether('servers');
