/** Locates the checkout. Tests run from its sources or, in half the loading time, compiled (`npm test`). */

import { fileURLToPath } from 'node:url';

export const IS_COMPILED = import.meta.url.endsWith('.js');

export const ROOT_URL = new URL(IS_COMPILED ? '../../../' : '../../', import.meta.url);
export const ROOT = fileURLToPath(ROOT_URL);
/** The program under test: the checkout or, if the test runs compiled, its directory `dist`. */
export const PROGRAM = fileURLToPath(new URL('../../', import.meta.url));

/** Arguments that Node.js needs to run a module of `moduleUrl`. */
export const LOADER: readonly string[] = IS_COMPILED ? [] : ['--import=tsx'];

/** URL of a module such as `src/log`: its compiled file if the test itself runs compiled, otherwise its source. */
export function moduleUrl(name: string): URL {
  return new URL(`../../${name}${IS_COMPILED ? '.js' : '.ts'}`, import.meta.url);
}

/** Test data outside the checkout, which is not on every machine. */
export const SHARED_DATA = new URL('../shared/data/', ROOT_URL);
