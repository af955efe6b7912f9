/** Chromium for tests, from the npm packages of test/clients, with the libraries that it needs. */

import { createInterface } from 'node:readline';
import { type ForeignClients, runClient, spawnClient } from './foreign-clients.ts';
import type { Cleanup } from './servers.ts';

const BROWSER: ForeignClients = {
  folder: '',
  files: ['fonts.conf'],
  unpack: [
    '--input-type=module',
    '--eval',
    `import chromium from '@sparticuz/chromium'; await chromium.executablePath();`,
  ],
  unpacked: 'chromium',
  // The package unpacks its libraries only if it detects AWS Lambda.
  environment: { AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs22.x', FONTCONFIG_PATH: '.' },
};

export interface Visit {
  readonly markup: string;
  /** Messages of the console, and uncaught errors. */
  readonly complaints: readonly string[];
  /** Every requested address. */
  readonly addresses: readonly string[];
}

/** Opens `url` and waits until loading has finished. */
export function visit(url: string): Promise<Visit> {
  return runClient(BROWSER, 'visit.mjs', [url]);
}

/** Runs a script of test/clients that drives the browser, and returns the JSON that it prints. */
export function drive<Seen>(script: string, args: readonly string[]): Promise<Seen> {
  return runClient(BROWSER, script, args);
}

/** One page of a browser, controlled by one command at a time; test/clients/remote.mjs defines the commands. */
export interface RemotePage {
  do<Value = null>(name: string, rest?: Readonly<Record<string, unknown>>): Promise<Value>;
}

/** The browser ends with the test. */
export async function openPage(cleanup: Cleanup): Promise<RemotePage> {
  const remote = await spawnClient(BROWSER, 'remote.mjs');
  cleanup.after(async () => {
    remote.stdin.end();
  });
  const complaints: string[] = [];
  remote.stderr.on('data', (chunk) => complaints.push(String(chunk)));
  const lines = createInterface(remote.stdout)[Symbol.asyncIterator]();
  return {
    async do<Value>(name: string, rest: Readonly<Record<string, unknown>> = {}): Promise<Value> {
      remote.stdin.write(`${JSON.stringify({ do: name, ...rest })}\n`);
      const { value: line, done } = await lines.next();
      if (done === true) throw new Error(`the browser has ended: ${complaints.join('')}`);
      const { value, error } = JSON.parse(line) as { readonly value: Value; readonly error?: string };
      if (error !== undefined) throw new Error(error);
      return value;
    },
  };
}
