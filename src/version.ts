/** The version of the package, for `User-Agent` and documents, and the end of support of Node.js versions. */

import { readFileSync } from 'node:fs';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

export const VERSION = version;

/** The last day of support, by major version (Node.js release schedule). A later version counts as supported. */
const SUPPORT_ENDS: Readonly<Record<string, string>> = {
  20: '2026-04-30',
  21: '2024-06-01',
  22: '2027-04-30',
  23: '2025-06-01',
  24: '2028-04-30',
  25: '2026-06-01',
  26: '2029-04-30',
};

/** A warning if the Node.js version, e.g. `20.19.0`, is out of support; otherwise null. */
export function unsupportedNode(version: string, today: Date): string | null {
  const ended = SUPPORT_ENDS[version.split('.', 1).join('')];
  if (ended === undefined || today.toISOString().slice(0, 10) <= ended) return null;
  return `Node.js ${version} has been out of support since ${ended}. Install a version that gets security fixes.`;
}
