/** Locates the checkout. Tests run from its sources or, in half the loading time, compiled (`npm test`). */

import { fileURLToPath } from 'node:url';

const isCompiled = import.meta.url.endsWith('.js');

export const ROOT_URL = new URL(isCompiled ? '../../../' : '../../', import.meta.url);
export const ROOT = fileURLToPath(ROOT_URL);

/** Arguments that Node.js needs to run a module of `moduleUrl`. */
export const LOADER: readonly string[] = isCompiled ? [] : ['--import=tsx'];

/** URL of a module such as `src/log`: its compiled file if the test itself runs compiled, otherwise its source. */
export function moduleUrl(name: string): URL {
  return new URL(`../../${name}${isCompiled ? '.js' : '.ts'}`, import.meta.url);
}

/** Test data outside the checkout, which is not on every machine. */
export const SHARED_DATA = new URL('../shared/data/', ROOT_URL);
