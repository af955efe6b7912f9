/** Tests of messages that the contract refuses, and of dead letters. */

import { runTogether } from '../support/together.ts';

runTogether('rejections');
