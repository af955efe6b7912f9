/** Servers and clients of our own, and what they carry. */

import { runTogether } from '../support/together.ts';

runTogether('servers');
