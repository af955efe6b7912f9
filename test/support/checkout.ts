/** Where the tests find the checkout: they run from its sources, or compiled, which loads them in half the time (`npm test`). */

import { fileURLToPath } from 'node:url';

const isCompiled = import.meta.url.endsWith('.js');

export const ROOT_URL = new URL(isCompiled ? '../../../' : '../../', import.meta.url);
export const ROOT = fileURLToPath(ROOT_URL);

/** What Node.js must be told so that it runs a module of `moduleUrl`. */
export const LOADER: readonly string[] = isCompiled ? [] : ['--import=tsx'];

/** Of `src/log`, in the form in which the test runs itself. */
export function moduleUrl(name: string): URL {
  return new URL(`../../${name}${isCompiled ? '.js' : '.ts'}`, import.meta.url);
}

/** The test data that lies beside the checkout: not in every copy of it. */
export const SHARED_DATA = new URL('../shared/data/', ROOT_URL);
