/** Runs the garbage collector on demand, without a command-line option. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

export const collectGarbage: () => void = runInNewContext('gc');
