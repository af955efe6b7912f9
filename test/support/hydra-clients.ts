/** API Platform Admin, from the npm packages of test/clients/hydra. */

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { type ForeignClients, installed } from './foreign-clients.ts';
import { listenOnLoopback } from './loopback.ts';
import type { Cleanup } from './servers.ts';

const HYDRA: ForeignClients = {
  folder: 'hydra',
  files: ['admin.jsx', 'bundle.mjs'],
  unpack: ['bundle.mjs'],
  unpacked: 'admin.js',
  environment: {},
};

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
