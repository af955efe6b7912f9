/** Tests of deliveries by e-mail. */

import { runTogether } from '../support/together.ts';

runTogether('mail');
