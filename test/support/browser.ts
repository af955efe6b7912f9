/** Chromium for tests, from the npm packages of test/clients, with the libraries that it needs. */

import { type ForeignClients, runClient } from './foreign-clients.ts';

const BROWSER: ForeignClients = {
  folder: '',
  files: [],
  unpack: [
    '--input-type=module',
    '--eval',
    `import chromium from '@sparticuz/chromium'; await chromium.executablePath();`,
  ],
  unpacked: 'chromium',
  // The package unpacks its libraries only where it believes itself on a bare machine.
  environment: { AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs22.x' },
};

export interface Visit {
  readonly markup: string;
  /** What the console says, and errors that nobody caught. */
  readonly complaints: readonly string[];
  /** Everything that was asked for. */
  readonly addresses: readonly string[];
}

/** Opens `url` and waits until nothing more is loaded. */
export function visit(url: string): Promise<Visit> {
  return runClient(BROWSER, 'visit.mjs', [url]);
}

/** Runs a script of test/clients that drives the browser, and answers what it prints as JSON. */
export function drive<Seen>(script: string, args: readonly string[]): Promise<Seen> {
  return runClient(BROWSER, script, args);
}
