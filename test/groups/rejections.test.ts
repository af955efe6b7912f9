/** Messages that the contract refuses, and those that are set aside. */

import { runTogether } from '../support/together.ts';

runTogether('rejections');
