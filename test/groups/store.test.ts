/** Tests of PostgreSQL and NATS without a daemon. */

import { runTogether } from '../support/together.ts';

runTogether('store');
