/** API Platform Admin and alcaeus, from the npm packages of test/clients/hydra. */

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { type ForeignClients, installed, runClient } from './foreign-clients.ts';
import { listenOnLoopback } from './loopback.ts';
import type { Cleanup } from './servers.ts';

const HYDRA: ForeignClients = {
  folder: 'hydra',
  files: ['admin.jsx', 'bundle.mjs'],
  unpack: ['bundle.mjs'],
  unpacked: 'admin.js',
  environment: {},
};

export interface HydraResource {
  readonly id: string;
  readonly types: readonly string[];
  /** Method and, if there is a body, its class. */
  readonly operations: readonly string[];
}

export interface LoadedResource extends HydraResource {
  readonly path: string;
  readonly status: number;
  readonly total?: number;
  readonly members?: readonly string[];
  readonly next?: string;
  /** By variable: IRI of the property that it filters or orders by. */
  readonly filters: Readonly<Record<string, string>>;
  readonly memberOperations?: readonly string[];
  /** By property. */
  readonly values: Readonly<Record<string, string>>;
}

export interface Walk {
  readonly collections: readonly (HydraResource & { readonly property: string })[];
  readonly loaded: readonly LoadedResource[];
}

/** Resources that alcaeus finds from the entrypoint, and at `paths`. */
export function walkWithAlcaeus(baseUrl: string, key: string, paths: readonly string[]): Promise<Walk> {
  return runClient(HYDRA, 'alcaeus.mjs', [baseUrl, key, ...paths]);
}

const PAGE =
  '<!doctype html><title>Admin</title><link rel="icon" href="data:,"><div id="root"></div><script src="/admin.js"></script>';

/** Serves API Platform Admin as a separate site, as a client would; resolves with its address for an API and a key. */
export async function serveAdmin(cleanup: Cleanup, baseUrl: string, key: string): Promise<string> {
  const script = await readFile(join(await installed(HYDRA), 'unpacked/admin.js'));
  const server = createServer(({ url }, response) => {
    const isScript = url === '/admin.js';
    response.setHeader('Content-Type', `text/${isScript ? 'javascript' : 'html'}; charset=utf-8`);
    response.end(isScript ? script : PAGE);
  });
  const address = `http://127.0.0.1:${await listenOnLoopback(cleanup, server)}/`;
  return `${address}?${new URLSearchParams({ entrypoint: baseUrl, key }).toString()}`;
}
